//! What an observation says, part by part, for protocols that know text and little else.

use serde_json::Value;
use tidegate_contract::{Content, Observation, Part, Reference, Status};

/// One part to read.
pub(super) enum Word {
    /// Text, or JSON as compact text.
    Text(String),
    /// A pointer to something kept elsewhere.
    Reference(Reference),
}

impl Word {
    /// As text: a reference is its JSON after the word that says what it is.
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Reference(reference) => {
                let mut shown = serde_json::Map::new();
                shown.insert("uri".to_owned(), Value::String(reference.uri));
                for (key, value) in [
                    ("mediaType", reference.media_type),
                    ("digest", reference.digest),
                ] {
                    if let Some(value) = value {
                        shown.insert(key.to_owned(), Value::String(value));
                    }
                }
                format!("reference: {}", Value::Object(shown))
            }
        }
    }
}

/// All parts in order; never none, and a failure's summary first.
pub(super) fn all(observation: &Observation) -> Vec<Word> {
    let text = |text: &str| Word::Text(text.to_owned());
    let mut words: Vec<Word> = match &observation.message.content {
        Content::Text(content) => vec![text(content)],
        // `Value`'s Display is its compact JSON, keys in the order in which they were written.
        Content::Json(value) => vec![Word::Text(value.to_string())],
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text: content } => text(content),
                Part::Json { data } => Word::Text(data.to_string()),
                Part::Reference { reference } => Word::Reference(reference.clone()),
            })
            .collect(),
    };
    words.retain(|word| !matches!(word, Word::Text(text) if text.is_empty()));
    if let Some(summary) = summary(observation) {
        let is_said = matches!(words.first(), Some(Word::Text(text)) if *text == summary);
        if !is_said {
            words.insert(0, Word::Text(summary));
        }
    }
    if words.is_empty() {
        let source = &observation.source;
        words.push(Word::Text(format!("success: {source} returned no content")));
    }
    words
}

/// All parts as one text, each from a line of its own.
pub(super) fn text(observation: &Observation) -> String {
    let mut said = String::new();
    for word in all(observation) {
        if !said.is_empty() && !said.ends_with('\n') {
            said.push('\n');
        }
        said.push_str(&word.into_text());
    }
    said
}

/// What stands in for white space where a protocol takes none.
pub(super) fn only_white_space(observation: &Observation) -> String {
    let Observation { status, source, .. } = observation;
    format!("{}: {source} returned only white space", status.as_str())
}

/// A failure in words, as an observation's message starts.
fn summary(observation: &Observation) -> Option<String> {
    let status = observation.status;
    if status == Status::Success {
        return None;
    }
    let status = status.as_str();
    Some(match &observation.error {
        Some(error) => format!("{status}: {}: {}", error.code(), error.message()),
        None => format!("{status}: no error was given"),
    })
}
