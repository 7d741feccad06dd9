//! Brave's web search (`GET /res/v1/web/search`).

use exchange::percent_encoded;
use serde::Deserialize;

use super::Hit;
use crate::arguments::Arguments;
use crate::markup;

/// The parts of an answer that are read. A search that found no page has no `web`.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "type")]
    kind: Option<String>,
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Option<Vec<Option<Page>>>,
}

#[derive(Deserialize)]
struct Page {
    title: Option<String>,
    url: Option<String>,
    description: Option<String>,
}

pub(super) fn path(arguments: &Arguments) -> String {
    let query = percent_encoded(&arguments.query);
    format!("/res/v1/web/search?q={query}&count={}", arguments.limit)
}

/// The pages of an answer; none if it is no answer to a search. Title and description are HTML.
pub(super) fn hits(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let pages = match answer {
        Answer { web: Some(web), .. } => web.results.unwrap_or_default(),
        Answer {
            kind: Some(kind), ..
        } if kind == "search" => Vec::new(),
        Answer { .. } => return None,
    };
    let hit = |page: Page| Hit {
        title: markup::plain(&page.title.unwrap_or_default()),
        url: page.url.unwrap_or_default(),
        snippet: markup::plain(&page.description.unwrap_or_default()),
    };
    Some(pages.into_iter().flatten().map(hit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w2_pages_are_read_and_unknown_fields_are_not() {
        let body = r#"{"type":"search","score":1e400,"query":{"original":"x"},"mixed":null,
            "web":{"type":"search","results":[
                {"title":"<strong>A</strong> &amp; B","url":"https://a.example/","description":"d","age":1},
                null,
                {"url":"https://b.example/"},
                {"title":null,"url":null,"description":null}]}}"#;
        let hits = hits(body.as_bytes()).expect("an answer");
        let titles: Vec<&str> = hits.iter().map(|hit| hit.title.as_str()).collect();
        assert_eq!(titles, ["A & B", "", ""]);
        assert_eq!(hits[0].snippet, "d");
        assert_eq!(hits[1].url, "https://b.example/");
    }

    #[test]
    fn w2_an_answer_without_pages_is_an_answer() {
        for body in [
            r#"{"type":"search"}"#,
            r#"{"type":"search","web":null}"#,
            r#"{"web":{}}"#,
            r#"{"web":{"results":null}}"#,
            r#"{"web":{"results":[]}}"#,
        ] {
            assert_eq!(hits(body.as_bytes()), Some(Vec::new()), "{body}");
        }
    }

    #[test]
    fn w3_what_is_no_answer_is_refused_and_never_traps() {
        let deep = "[".repeat(100_000);
        let deep_inside = format!(r#"{{"x":{deep}"#);
        for body in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"type":"ErrorResponse","error":{"code":"x"}}"#,
            r#"{"web":[]}"#,
            r#"{"web":{"results":{}}}"#,
            r#"{"web":{"results":["x"]}}"#,
            r#"{"web":{"results":[{"title":1e400}]}}"#,
            r#"{"web":{"results":[{"title":5}]}}"#,
            r#"{"web":{},"web":{}}"#,
            r#"{"web":{"results":[{"title":"\ud83d"}]}}"#,
            "{\"web\":{\"results\":[{\"title\":\"\u{0}\"}]}}",
            r#"{"web":{}} x"#,
            deep.as_str(),
            deep_inside.as_str(),
        ] {
            assert_eq!(hits(body.as_bytes()), None, "{body:.60}");
        }
        assert_eq!(
            hits(b"{\"web\":{\"results\":[{\"title\":\"\xff\"}]}}"),
            None
        );
    }
}
