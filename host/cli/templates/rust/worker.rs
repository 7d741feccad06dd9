//! The worker `{{name}}`: counts the words of its prompt, and stages what it has to say as the part
//! `count.txt`.

use tidegate_plugin::serde_json::{Value, json};
use tidegate_plugin::{Failure, Invocation, Worker, stage};

struct Plugin;

tidegate_plugin::export_worker!(Plugin);

impl Worker for Plugin {
    fn run(invocation: Invocation) -> Result<Value, Failure> {
        let words = invocation.prompt.split_whitespace().count();
        if words == 0 {
            return Err(Failure::new("BLANK", "the prompt has no words"));
        }
        stage("count.txt", &format!("{words} words\n"))?;
        Ok(json!({ "words": words }))
    }
}
