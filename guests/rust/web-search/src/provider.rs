//! Whom the tool can ask. Each provider knows the path of its search and the shape of its answer;
//! the rest of the plugin knows neither.

use crate::arguments::Arguments;
use crate::call::Failed;

mod brave;
mod searxng;

/// A search service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    /// Brave's web search.
    Brave,
    /// An instance of `SearXNG` whose settings allow the format `json`.
    Searxng,
}

/// One result as the provider gave it, as plain text without any bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
}

impl Provider {
    /// The path and query that search for this.
    pub(crate) fn path(self, arguments: &Arguments) -> String {
        match self {
            Self::Brave => brave::path(arguments),
            Self::Searxng => searxng::path(arguments),
        }
    }

    /// What the body of an answer holds, in the provider's order.
    ///
    /// # Errors
    /// If it is no answer of this provider.
    pub(crate) fn hits(self, body: &[u8]) -> Result<Vec<Hit>, Failed> {
        let hits = match self {
            Self::Brave => brave::hits(body),
            Self::Searxng => searxng::hits(body),
        };
        hits.ok_or(Failed)
    }
}
