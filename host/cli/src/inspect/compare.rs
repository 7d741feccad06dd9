//! What changed from one component to another: capabilities and schemas (SPEC P3).

use std::collections::BTreeSet;

use serde::Serialize;
use tidegate_contract::ToolDefinition;

use super::{Import, Report};

/// The differences; each list is empty where nothing changed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Changes {
    added_exports: Vec<String>,
    removed_exports: Vec<String>,
    added_imports: Vec<Import>,
    removed_imports: Vec<Import>,
    /// Kinds of grants that the old one had no use for.
    new_needs: Vec<&'static str>,
    added_tools: Vec<String>,
    removed_tools: Vec<String>,
    changed_tools: Vec<ChangedTool>,
}

/// One tool that both have.
#[derive(Debug, Serialize)]
struct ChangedTool {
    name: String,
    /// Which of its fields differ, by their names on the wire.
    fields: Vec<&'static str>,
}

pub(super) fn changes(old: &Report, new: &Report) -> Changes {
    let needs = |report: &Report| -> BTreeSet<&'static str> {
        report
            .imports
            .iter()
            .flat_map(|import| import.needs.iter().copied())
            .collect()
    };
    let tool_names = |report: &Report| {
        report
            .tools
            .iter()
            .map(|tool| tool.name.to_string())
            .collect::<Vec<_>>()
    };
    let both = new.tools.iter().filter_map(|tool| {
        let before = old.tools.iter().find(|other| other.name == tool.name)?;
        let fields = differing(before, tool);
        (!fields.is_empty()).then(|| ChangedTool {
            name: tool.name.to_string(),
            fields,
        })
    });
    Changes {
        added_exports: missing(&old.exports, &new.exports),
        removed_exports: missing(&new.exports, &old.exports),
        added_imports: missing(&old.imports, &new.imports),
        removed_imports: missing(&new.imports, &old.imports),
        new_needs: needs(new).difference(&needs(old)).copied().collect(),
        added_tools: missing(&tool_names(old), &tool_names(new)),
        removed_tools: missing(&tool_names(new), &tool_names(old)),
        changed_tools: both.collect(),
    }
}

/// What of the second is not in the first.
fn missing<T: PartialEq + Clone>(first: &[T], second: &[T]) -> Vec<T> {
    second
        .iter()
        .filter(|item| !first.contains(item))
        .cloned()
        .collect()
}

fn differing(old: &ToolDefinition, new: &ToolDefinition) -> Vec<&'static str> {
    [
        ("description", old.description != new.description),
        ("inputSchema", old.input_schema != new.input_schema),
        ("outputSchema", old.output_schema != new.output_schema),
        ("effects", old.effects != new.effects),
        (
            "requiresApproval",
            old.requires_approval != new.requires_approval,
        ),
    ]
    .into_iter()
    .filter_map(|(field, differs)| differs.then_some(field))
    .collect()
}

impl Changes {
    /// One line for each difference.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut list = |sign: char, what: &str, names: &mut dyn Iterator<Item = &str>| {
            lines.extend(names.map(|name| format!("{sign} {what} {name}\n")));
        };
        let import = |import: &'_ Import| -> String { import.name.clone() };
        let added: Vec<String> = self.added_imports.iter().map(import).collect();
        let removed: Vec<String> = self.removed_imports.iter().map(import).collect();
        list('+', "need", &mut self.new_needs.iter().copied());
        list('+', "import", &mut added.iter().map(String::as_str));
        list('-', "import", &mut removed.iter().map(String::as_str));
        list(
            '+',
            "export",
            &mut self.added_exports.iter().map(String::as_str),
        );
        list(
            '-',
            "export",
            &mut self.removed_exports.iter().map(String::as_str),
        );
        list(
            '+',
            "tool",
            &mut self.added_tools.iter().map(String::as_str),
        );
        list(
            '-',
            "tool",
            &mut self.removed_tools.iter().map(String::as_str),
        );
        for tool in &self.changed_tools {
            lines.push(format!(
                "~ tool {}: {}\n",
                tool.name,
                tool.fields.join(", ")
            ));
        }
        if lines.is_empty() {
            return "no difference in capabilities or schemas\n".to_owned();
        }
        lines.concat()
    }
}
