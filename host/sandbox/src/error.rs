//! What can go wrong between a grant and a handle. The caller is the host's operator.

use std::io;

use thiserror::Error;

/// Why a handle could not be opened.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// A granted folder is missing, is no folder, or may not be opened by this process.
    #[error("cannot open the granted folder `{root}`")]
    Folder {
        /// The root as the grant names it.
        root: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file named by the operator could not be read.
    #[error("cannot read `{path}`")]
    File {
        /// The path as the operator named it.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The cache folder could not be made or is not ours alone.
    #[error("the cache folder `{path}` can't be used: {reason}")]
    Cache {
        /// The folder.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
}
