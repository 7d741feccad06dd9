//! What a worker gets when it fetches its prompt: put together at fetch time, never kept (SPEC I1).
//!
//! Deliberately absent: any text of an earlier output; there are pointers to them only.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_contract::JsonObject;

use crate::store::{Attempt, Output, sha256_hex};

/// A longer system prompt is handed over by reference: 25 KiB.
pub const SYSTEM_BYTES: usize = 25 * 1024;

/// Which parts of its context a worker sees: everything where nothing is said. What is excluded
/// stays out even where it is included too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContextPolicy {
    /// Keys of the context; all where it is absent.
    pub include: Option<Vec<String>>,
    /// Keys that stay out.
    pub exclude: Vec<String>,
    /// Steps whose outputs are pointed to; all where it is absent.
    pub steps: Option<Vec<String>>,
    /// Steps that stay out.
    pub steps_exclude: Vec<String>,
}

impl ContextPolicy {
    fn shows_key(&self, key: &str) -> bool {
        shows(self.include.as_deref(), &self.exclude, key)
    }

    /// Whether outputs of this step are pointed to; all its lanes are meant.
    #[must_use]
    pub fn shows_step(&self, name: &str) -> bool {
        shows(self.steps.as_deref(), &self.steps_exclude, name)
    }
}

fn shows(include: Option<&[String]>, exclude: &[String], name: &str) -> bool {
    let is_name = |listed: &String| listed == name;
    include.is_none_or(|include| include.iter().any(is_name)) && !exclude.iter().any(is_name)
}

/// The payload of one attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Payload {
    /// The task.
    pub task_id: String,
    /// Which attempt of the step, from 1.
    pub attempt: u32,
    /// Who is to do it.
    pub agent: String,
    /// The system prompt, where it is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Where it is, otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_ref: Option<SystemReference>,
    /// The directive.
    pub prompt: String,
    /// What the worker may know of its surroundings.
    pub context: JsonObject,
}

/// A system prompt that is fetched on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SystemReference {
    /// Where, relative to the service.
    pub uri: String,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// Its size.
    pub size_bytes: usize,
    /// How it is fetched: always `http`.
    pub mode: &'static str,
}

/// A pointer to an output of an earlier step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pointer {
    /// `step`, `step[lane]`, or either with `/part`.
    pub name: String,
    /// The size of what the URL serves.
    pub size_bytes: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// The file, relative to the work's folder, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// Where it is fetched, relative to the service.
    pub content_url: String,
}

impl Pointer {
    /// Points to an output; `folder` is where its file stands, if files are written at all.
    #[must_use]
    pub fn to(output: &Output, folder: Option<&[String]>) -> Self {
        let step = output.step.to_string();
        let (name, url, file) = match &output.part {
            None => (step.clone(), encode(&step), output.step.file_name()),
            Some(part) => {
                let part = part.as_str();
                let url = format!("{}/{}", encode(&step), encode(part));
                (format!("{step}/{part}"), url, part.to_owned())
            }
        };
        let folder = folder.filter(|_| output.has_file);
        Self {
            name,
            size_bytes: output.size_bytes,
            sha256: output.sha256.clone(),
            file_path: folder.map(|folder| format!("{}/{file}", folder.join("/"))),
            content_url: format!("/v1/worker/content/{url}"),
        }
    }
}

/// A name as one segment of a URL's path (RFC 3986 3.3): all but unreserved characters as `%XX`.
///
/// Readers of URLs take `.` and `..` for steps of the path however they are written: a part of such
/// a name is in the step's value, and out of reach here.
fn encode(name: &str) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let digits = [digit(byte >> 4), digit(byte & 15)];
            encoded.push('%');
            encoded.extend(digits.map(|digit| digit.to_ascii_uppercase()));
        }
    }
    encoded
}

impl Payload {
    /// Puts an attempt's payload together.
    #[must_use]
    pub fn of(attempt: &Attempt, pointers: &[Pointer]) -> Self {
        let system = &attempt.order.system;
        let is_long = system.len() > SYSTEM_BYTES;
        let reference = || SystemReference {
            uri: "/v1/worker/system".to_owned(),
            sha256: sha256_hex(system.as_bytes()),
            size_bytes: system.len(),
            mode: "http",
        };
        Self {
            task_id: attempt.run.task.clone(),
            attempt: attempt.number,
            agent: attempt.agent.clone(),
            system: (!is_long && !system.is_empty()).then(|| system.clone()),
            system_ref: is_long.then(reference),
            prompt: attempt.order.directive.clone(),
            context: context(attempt, pointers),
        }
    }
}

fn context(attempt: &Attempt, pointers: &[Pointer]) -> JsonObject {
    let policy = &attempt.order.policy;
    let launch = &attempt.run.launch;
    let mut context = JsonObject::new();
    // Who and what the attempt is, is never filtered.
    context.insert("task_id".to_owned(), attempt.run.task.as_str().into());
    context.insert("agent".to_owned(), attempt.agent.as_str().into());
    context.insert("attempt".to_owned(), attempt.number.into());
    let known = [
        ("project_root", launch.project_root.clone().map(Value::from)),
        ("work_dir", launch.work_dir.clone().map(Value::from)),
        ("task_metadata", launch.task_metadata.clone()),
        ("run_id", Some(attempt.run.id.as_str().into())),
    ];
    for (key, value) in known {
        if let Some(value) = value.filter(|_| policy.shows_key(key)) {
            context.insert(key.to_owned(), value);
        }
    }
    let declared = attempt.order.context.iter();
    let extra: JsonObject = declared
        .filter(|(key, _)| policy.shows_key(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !extra.is_empty() {
        context.insert("extra".to_owned(), Value::Object(extra));
    }
    let steps: Vec<Value> = pointers
        .iter()
        .filter_map(|pointer| serde_json::to_value(pointer).ok())
        .collect();
    if !steps.is_empty() {
        context.insert("steps".to_owned(), Value::Array(steps));
    }
    context
}
