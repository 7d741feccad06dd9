//! What the tool says about itself (SPEC W1, T1).

use crate::bindings::tidegate::plugin::types::{Effect, ToolDefinition};

/// The name of the one tool.
pub(crate) const NAME: &str = "web_search";

/// No control characters but the tab, no other ends of a line, and something to read.
const INPUT_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "query": {
      "type": "string",
      "minLength": 1,
      "maxLength": 600,
      "allOf": [
        { "pattern": "^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$" },
        { "pattern": "\\S" }
      ],
      "description": "What to search for: one line of at most 75 words"
    },
    "limit": {
      "type": "integer",
      "minimum": 1,
      "maximum": 20,
      "default": 5,
      "description": "The most results to give"
    }
  },
  "required": ["query"],
  "additionalProperties": false
}"#;

const OUTPUT_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "query": { "type": "string", "description": "What was searched for." },
    "results": {
      "type": "array",
      "maxItems": 20,
      "items": {
        "type": "object",
        "properties": {
          "title": { "type": "string", "minLength": 1, "maxLength": 256 },
          "url": { "type": "string", "description": "An http or https URL." },
          "snippet": { "type": "string", "maxLength": 2048, "description": "A few words of the page; may be empty." }
        },
        "required": ["title", "url", "snippet"],
        "additionalProperties": false
      }
    },
    "truncated": {
      "type": "boolean",
      "description": "Whether the provider gave more results than the limit, or a text was cut."
    }
  },
  "required": ["query", "results", "truncated"],
  "additionalProperties": false
}"#;

/// The definition of the tool.
pub(crate) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: NAME.to_owned(),
        description: Some(
            "Searches the web and returns a few results, each with title, URL and snippet. The \
             pages themselves are not opened."
                .to_owned(),
        ),
        input_schema: INPUT_SCHEMA.to_owned(),
        output_schema: Some(OUTPUT_SCHEMA.to_owned()),
        effects: vec![Effect::Network],
        requires_approval: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn w1_schemas_are_json_and_name_the_bounds() {
        let input: Value = serde_json::from_str(INPUT_SCHEMA).expect("JSON");
        assert_eq!(input["properties"]["query"]["maxLength"], 600);
        assert_eq!(input["properties"]["limit"]["maximum"], 20);
        assert_eq!(input["properties"]["limit"]["default"], 5);
        let output: Value = serde_json::from_str(OUTPUT_SCHEMA).expect("JSON");
        let result = &output["properties"]["results"]["items"]["properties"];
        assert_eq!(result["title"]["maxLength"], 256);
        assert_eq!(result["snippet"]["maxLength"], 2_048);
    }
}
