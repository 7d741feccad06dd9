//! `SearXNG` (`GET /search` with the format `json`). It has no parameter for the number of results.

use exchange::percent_encoded;
use serde::Deserialize;

use super::Hit;
use crate::arguments::Arguments;

/// The parts of an answer that are read.
#[derive(Deserialize)]
struct Answer {
    results: Vec<Option<Page>>,
}

#[derive(Deserialize)]
struct Page {
    title: Option<String>,
    url: Option<String>,
    content: Option<String>,
}

pub(super) fn path(arguments: &Arguments) -> String {
    format!(
        "/search?q={}&format=json",
        percent_encoded(&arguments.query)
    )
}

/// The pages of an answer; none if it is no answer to a search. Texts are plain.
pub(super) fn hits(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let hit = |page: Page| Hit {
        title: page.title.unwrap_or_default(),
        url: page.url.unwrap_or_default(),
        snippet: page.content.unwrap_or_default(),
    };
    Some(answer.results.into_iter().flatten().map(hit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_pages_are_read_as_plain_text() {
        let body = r#"{"query":"x","number_of_results":0,"results":[
            {"url":"https://a.example/","title":"Vec<T> & more","content":"c","engine":"e","score":1.5,"parsed_url":["https"]},
            {"url":"https://b.example/","title":"b","content":null}],
            "answers":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[]}"#;
        let hits = hits(body.as_bytes()).expect("an answer");
        assert_eq!(hits[0].title, "Vec<T> & more");
        assert_eq!(hits[0].snippet, "c");
        assert_eq!(hits[1].snippet, "");
    }

    #[test]
    fn w3_what_is_no_answer_is_refused() {
        for body in [
            "",
            "{}",
            "<html>",
            r#"{"results":null}"#,
            r#"{"results":[1]}"#,
        ] {
            assert_eq!(hits(body.as_bytes()), None, "{body}");
        }
    }
}
