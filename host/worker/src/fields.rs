//! Objects of a document whose keys are all known: how they are read, and what is said of a key that
//! is not, with the place where it stands.

use serde_json::Value;
use tidegate_contract::JsonObject;
use tidegate_contract::nearest::nearest;
use tidegate_contract::text::cut;

use crate::error::WorkerError;

/// How much of an unknown key an error repeats, in bytes.
const SHOWN_BYTES: usize = 64;

/// An object that is being read.
#[derive(Debug)]
pub(crate) struct Fields {
    place: String,
    left: JsonObject,
}

/// Something at a place is not what was expected there.
pub(crate) fn misfit(place: &str, expected: &str) -> WorkerError {
    WorkerError::InvalidRequest {
        reason: format!("`{place}` must be {expected}"),
    }
}

impl Fields {
    /// The object of a place, if each of its keys is among `known`.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` for what is no object, and for another key: it names the key and the one that
    /// was probably meant.
    pub(crate) fn of(place: &str, value: Value, known: &[&str]) -> Result<Self, WorkerError> {
        let Value::Object(left) = value else {
            return Err(misfit(place, "an object"));
        };
        if let Some(key) = left.keys().find(|key| !known.contains(&key.as_str())) {
            let shown = cut(key, SHOWN_BYTES).escape_debug();
            let hint = match nearest(key, known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("the keys are {}", known.join(", ")),
            };
            return Err(WorkerError::InvalidRequest {
                reason: format!("`{place}` has the unknown key `{shown}`; {hint}"),
            });
        }
        Ok(Self {
            place: place.to_owned(),
            left,
        })
    }

    /// The place of a key.
    pub(crate) fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }

    /// The value of a key; a null is one.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.left.shift_remove(key)
    }

    /// What a key must have.
    pub(crate) fn needed(&mut self, key: &str) -> Result<Value, WorkerError> {
        self.take(key).ok_or_else(|| WorkerError::InvalidRequest {
            reason: format!("`{}` lacks `{key}`", self.place),
        })
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<Option<String>, WorkerError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(misfit(&self.at(key), "a text")),
        }
    }

    pub(crate) fn flag(&mut self, key: &str) -> Result<Option<bool>, WorkerError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(misfit(&self.at(key), "true or false")),
        }
    }

    pub(crate) fn object(&mut self, key: &str) -> Result<Option<JsonObject>, WorkerError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(misfit(&self.at(key), "an object")),
        }
    }

    pub(crate) fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>, WorkerError> {
        let misfit = || misfit(&self.at(key), "a list of texts");
        let Some(value) = self.left.get(key) else {
            return Ok(None);
        };
        let items = value.as_array().ok_or_else(misfit)?;
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().map(Some).ok_or_else(misfit)
    }

    /// One of a few words.
    pub(crate) fn word<T>(
        &mut self,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, WorkerError>
    where
        T: Copy,
    {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let said = value.as_str();
        let found = words.iter().find(|(word, _)| said == Some(word));
        let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        match found {
            Some((_, meant)) => Ok(Some(*meant)),
            None => Err(misfit(
                &self.at(key),
                &format!("one of {}", names.join(", ")),
            )),
        }
    }

    /// The keys that were not taken.
    pub(crate) fn rest(self) -> JsonObject {
        self.left
    }
}
