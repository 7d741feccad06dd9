//! What is handed on of what a provider found (SPEC W1).

use exchange::Url;
use serde::Serialize;

use crate::provider::Hit;
use crate::text;

/// The longest title and snippet, in characters.
const TITLE_CHARACTERS: usize = 256;
const SNIPPET_CHARACTERS: usize = 2_048;

/// The longest URL, in bytes. 20 results of the largest size, given as text and as data, stay
/// below the 1 MiB that the host takes.
const URL_BYTES: usize = 4_096;

/// The usable results in the provider's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Results {
    pub(crate) list: Vec<Page>,
    /// Whether there were more, or a text was cut.
    pub(crate) truncated: bool,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
}

impl Results {
    /// At most `limit` of the hits. One without a usable URL is left out; one without a title shows
    /// its URL in place of it.
    pub(crate) fn of(hits: Vec<Hit>, limit: usize) -> Self {
        let mut results = Self {
            list: Vec::new(),
            truncated: false,
        };
        for hit in hits {
            let Some(url) = url(&hit.url) else { continue };
            if results.list.len() == limit {
                results.truncated = true;
                break;
            }
            let mut title = text::one_line(&hit.title, TITLE_CHARACTERS);
            if title.text.is_empty() {
                title = text::one_line(&url, TITLE_CHARACTERS);
            }
            let snippet = text::one_line(&hit.snippet, SNIPPET_CHARACTERS);
            results.truncated |= title.is_cut || snippet.is_cut;
            results.list.push(Page {
                title: title.text,
                url,
                snippet: snippet.text,
            });
        }
        results
    }
}

/// A URL that a reader may be pointed to, if this is one: `http` or `https`, without user info.
fn url(text: &str) -> Option<String> {
    let text = text.trim();
    let url = Url::parse(text).ok()?;
    let scheme = if url.is_https() { "https" } else { "http" };
    let fragment = text
        .split_once('#')
        .map(|(_, fragment)| format!("#{}", exchange::fit_for_url(fragment)));
    let url = format!(
        "{scheme}://{}{}{}",
        url.authority(),
        url.path(),
        fragment.unwrap_or_default()
    );
    (url.len() <= URL_BYTES).then_some(url)
}

#[cfg(test)]
mod tests;
