//! `tidegate trust`: which found config files the user has read and stands for (SPEC L4).
//!
//! A record is the digest of the file and its absolute path: a changed file is a stranger's again,
//! and so is a copy elsewhere, whose relative paths mean other things.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use tidegate_sandbox::SandboxError;
use tidegate_sandbox::ambient::{self, NamedFile};

use crate::cli::TrustArguments;
use crate::config::Config;
use crate::loaded::{FILE_NAME, reaches};
use crate::refusal::{self, Exit, Form};
use crate::{print, yaml};

const RECORDS: &str = "trusted";

/// Largest file of records.
const RECORD_BYTES: u64 = 1024 * 1024;

/// The records, one for each file.
#[derive(Debug, Default)]
pub(crate) struct Trusted(Vec<Record>);

#[derive(Debug)]
struct Record {
    digest: String,
    path: PathBuf,
}

impl Trusted {
    /// The user's records; none where they can't be read, so that nothing is trusted by accident.
    pub(crate) fn read() -> Self {
        let read = || {
            let folder = ambient::open_cache(&ambient::user_state_folder()?).ok()?;
            let bytes = NamedFile::open_in(&folder, Path::new(RECORDS), RECORD_BYTES)
                .and_then(NamedFile::read)
                .ok()?;
            String::from_utf8(bytes).ok()
        };
        let record = |line: &str| {
            let (digest, path) = line.split_once("  ")?;
            Some(Record {
                digest: digest.to_owned(),
                path: PathBuf::from(path),
            })
        };
        Self(
            read()
                .unwrap_or_default()
                .lines()
                .filter_map(record)
                .collect(),
        )
    }

    /// Whether this file with this content is trusted.
    pub(crate) fn holds(&self, path: &Path, digest: &str) -> bool {
        ambient::absolute(path).is_ok_and(|path| {
            let mut records = self.0.iter();
            records.any(|record| record.path == path && record.digest == digest)
        })
    }

    fn forget(&mut self, path: &Path) -> bool {
        let before = self.0.len();
        self.0.retain(|record| record.path != path);
        self.0.len() < before
    }

    fn write(&self) -> anyhow::Result<()> {
        let folder = ambient::user_state_folder()
            .context("there is no folder to keep trust in; set HOME or XDG_STATE_HOME")?;
        let folder = ambient::open_cache(&folder).map_err(|error| match error {
            SandboxError::Cache { path, reason } => {
                anyhow!("the folder `{path}` can't keep what is trusted: {reason}")
            }
            other => other.into(),
        })?;
        let line = |record: &Record| format!("{}  {}\n", record.digest, record.path.display());
        let text: String = self.0.iter().map(line).collect();
        Ok(ambient::write_private(&folder, RECORDS, text.as_bytes())?)
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &TrustArguments) -> Exit {
    match trust(arguments) {
        Ok(()) => Exit::Success,
        Err(error) => refusal::usage(&error, Form::Text),
    }
}

fn trust(arguments: &TrustArguments) -> anyhow::Result<()> {
    let mut trusted = Trusted::read();
    if arguments.list {
        for Record { digest, path } in &trusted.0 {
            let now = ambient::read_file(path, yaml::FILE_BYTES);
            let state = match now.map(|bytes| tidegate_engine::digest(&bytes)) {
                Ok(now) if now == *digest => "trusted",
                Ok(_) => "changed",
                Err(_gone) => "missing",
            };
            print::text(&format!("{state}  sha-256:{digest}  {}\n", path.display()));
        }
        return Ok(());
    }
    let file = arguments.file.as_deref().unwrap_or(Path::new(FILE_NAME));
    if arguments.remove {
        // The file may be gone; its record can be named by the path in the list then.
        let path = ambient::absolute(file).unwrap_or_else(|_gone| file.to_owned());
        if !trusted.forget(&path) {
            bail!(
                "{} is not trusted; `tidegate trust --list` shows what is",
                file.display()
            );
        }
        trusted.write()?;
        print::text(&format!("{} is no longer trusted\n", path.display()));
        return Ok(());
    }
    let bytes = ambient::read_file(file, yaml::FILE_BYTES)?;
    let path = ambient::absolute(file)?;
    if path.to_str().is_none_or(|path| path.contains(['\n', '\r'])) {
        bail!("the path of the file is not UTF-8 or has a line break; move it, or use --config");
    }
    let digest = tidegate_engine::digest(&bytes);
    let config: Config = yaml::parse_bytes(bytes, &file.display().to_string())?;
    trusted.forget(&path);
    trusted.0.push(Record {
        digest: digest.clone(),
        path: path.clone(),
    });
    trusted.write()?;
    print::text(&format!("trusted {} (sha-256:{digest})\n", path.display()));
    for (key, outside) in reaches(&config) {
        print::text(&format!(
            "  it reaches outside its folder: {key}: {outside}\n"
        ));
    }
    Ok(())
}
