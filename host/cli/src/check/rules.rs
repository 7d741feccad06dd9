//! The rules of `tidegate check`: what each is called, how much it matters, and what to do about it.
//!
//! Ids are stable. The guide lists them all; a test compares it with what is printed of this table.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Worth knowing.
    Note,
    /// It works, and will be a trouble to somebody.
    Warning,
    /// It breaks the contract, or can't work.
    Error,
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One rule.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    pub(crate) level: Level,
    /// What is the case where it is broken.
    pub(crate) means: &'static str,
    /// What the author can do.
    pub(crate) mend: &'static str,
}

/// What is to be done about what is no fault.
pub(super) const NOTHING: &str = "Nothing.";

const fn error(id: &'static str, means: &'static str, mend: &'static str) -> Rule {
    rule(id, Level::Error, means, mend)
}

const fn warning(id: &'static str, means: &'static str, mend: &'static str) -> Rule {
    rule(id, Level::Warning, means, mend)
}

const fn note(id: &'static str, means: &'static str, mend: &'static str) -> Rule {
    rule(id, Level::Note, means, mend)
}

const fn rule(id: &'static str, level: Level, means: &'static str, mend: &'static str) -> Rule {
    Rule {
        id,
        level,
        means,
        mend,
    }
}

pub(super) static NOT_LOADABLE: Rule = error(
    "not-loadable",
    "The host can't load the component: an import that it does not have, nothing that it knows among the exports, or an interface of another shape.",
    "Build against the `wit/` of this version and import nothing but it and WASI 0.2; `tidegate inspect` lists both sides.",
);
pub(super) static DEFINITIONS_UNUSABLE: Rule = error(
    "definitions-unusable",
    "`definitions` trapped, passed a limit, or gave a tool that breaks a bound: its name, a second tool of one name, a schema that is no JSON object, a text that is too long.",
    "Return constant definitions; a name is 1 to 64 of letters, digits, `_` and `-`, a description at most 4,096 bytes, a schema a JSON object of at most 64 KiB.",
);
pub(super) static DEFINITIONS_DIFFER: Rule = error(
    "definitions-differ",
    "Two fresh instances defined different tools.",
    "Let `definitions` depend on nothing: no clock, no randomness, no settings, no order of a hash map.",
);
pub(super) static NO_TOOLS: Rule = warning(
    "no-tools",
    "The component exports `tools` and defines none.",
    "Return a definition for each tool, or leave the export out.",
);
pub(super) static DESCRIPTION_MISSING: Rule = warning(
    "description-missing",
    "The tool has no description, so a model has its name alone to choose it by.",
    "Say in one or two sentences when to use the tool and what it gives.",
);
pub(super) static DESCRIPTION_HIDDEN: Rule = error(
    "description-hidden",
    "A description, of the tool or in its schemas, holds control or invisible characters: a model reads what a person does not see.",
    "Write plain text; newline and tab are the only controls it needs.",
);
pub(super) static NAME_TAKEN: Rule = warning(
    "name-taken",
    "A tool that the product carries has this name. `call` refuses two tools of one name.",
    "Choose another name; an operator can tell them apart by a `prefix` in the config file.",
);
pub(super) static SCHEMA_INVALID: Rule = error(
    "schema-invalid",
    "A schema can't be compiled: it is no JSON Schema 2020-12, refers outside of itself, is too deep, or unfolds too far. No host registers the tool.",
    "Mend the schema; references start with `#/` and lead inside it.",
);
pub(super) static SCHEMA_TAKES_NO_OBJECT: Rule = error(
    "schema-takes-no-object",
    "Arguments are a JSON object, and the schema's type takes none.",
    "Write `\"type\": \"object\"` at the top and put the values under `properties`.",
);
pub(super) static SCHEMA_CONTRADICTS: Rule = error(
    "schema-contradicts",
    "Two bounds of one place exclude each other, so that nothing fits there.",
    "Put the smaller bound first: `minLength` is at most `maxLength`, each required property may exist, and so on.",
);
pub(super) static SCHEMA_EXAMPLE: Rule = error(
    "schema-example",
    "An entry of `examples`, or a `default`, does not fit its own schema.",
    "Mend the example or the schema.",
);
pub(super) static SCHEMA_UNBOUNDED: Rule = warning(
    "schema-unbounded",
    "A text, list or number has no bound, so the largest that arguments may be (1 MiB) reaches the tool.",
    "Give texts `maxLength`, lists `maxItems`, numbers `minimum` and `maximum`.",
);
pub(super) static SCHEMA_OPEN: Rule = warning(
    "schema-open",
    "The object takes properties of any name, so a misspelt one is ignored without a word.",
    "Add `\"additionalProperties\": false`.",
);
pub(super) static SCHEMA_UNDESCRIBED: Rule = note(
    "schema-undescribed",
    "A property has no description.",
    "Say what it means, its unit and its default; models read it.",
);
pub(super) static EFFECT_IMPOSSIBLE: Rule = warning(
    "effect-impossible",
    "The tool declares an effect that the component imports nothing for, and is refused without a grant that it can't use.",
    "Take the effect out of the definition.",
);
pub(super) static EFFECT_UNDECLARED: Rule = error(
    "effect-undeclared",
    "The tool reached for something that it does not declare. A host grants by what is declared, so it is always denied.",
    "Declare the effect, or leave the access out.",
);
pub(super) static GRANT_WANTED: Rule = note(
    "grant-wanted",
    "The tool declares an effect and nothing of the kind was granted, so it was not run.",
    "Check again with the `--allow` that is named.",
);
pub(super) static ARGUMENTS_WANTED: Rule = note(
    "arguments-wanted",
    "No arguments could be made that the schema takes, the tool refused all that were made, or none of them did more than fail, as where a file has to be there. So little of the tool was seen.",
    "Give some with `--arguments FILE`, or put `examples` into the schema.",
);
pub(super) static EXAMPLE_REFUSED: Rule = error(
    "example-refused",
    "Arguments that the author gave as good were refused.",
    "Mend the example, the schema or `validate`.",
);
pub(super) static EXAMPLE_UNEXPECTED: Rule = error(
    "example-unexpected",
    "A call of the author's ended otherwise than its `expect` says; what is denied has failed.",
    "Mend the tool or the expectation.",
);
pub(super) static VALIDATE_REFUSES_VALID: Rule = error(
    "validate-refuses-valid",
    "`validate` refused all arguments that the schema takes, though no text in them is free.",
    "Say the rule in the schema, or drop it from `validate`.",
);
pub(super) static VALIDATE_TAKES_INVALID: Rule = warning(
    "validate-takes-invalid",
    "The tool succeeded with arguments that its schema refuses. An operator may have switched the host's check off.",
    "Check in `validate` what the schema says, or tighten the code that reads the arguments.",
);
pub(super) static REFUSAL_WITHOUT_PROBLEM: Rule = error(
    "refusal-without-problem",
    "`validate` refused the arguments and named no problem, so the caller can't mend them.",
    "Give at least one problem with its place and reason.",
);
pub(super) static REFUSAL_POINTER: Rule = error(
    "refusal-pointer",
    "A problem's place is no JSON Pointer.",
    "Write `/name` for a property, `/list/0` for an item, and the empty text for the arguments as a whole.",
);
pub(super) static REFUSAL_REASON: Rule = warning(
    "refusal-reason",
    "A problem has no reason that may be shown: it is blank, or the host had to take a path, an address or a credential out of it.",
    "Say in one line what was expected, and quote nothing.",
);
pub(super) static TRAPS: Rule = error(
    "traps",
    "The guest panicked, exited or hit an instruction that traps, with input that it has to take.",
    "Answer with a status and an error of your own where it panics now.",
);
pub(super) static TRAPS_ON_INVALID: Rule = error(
    "traps-on-invalid",
    "The tool trapped on arguments that its schema refuses. An operator may have switched the host's check off.",
    "Read arguments without `unwrap`, and refuse in `validate` what can't be read.",
);
pub(super) static RESULT_EMPTY: Rule = error(
    "result-empty",
    "A success had no content, structured content or reference, so there is nothing to read.",
    "Give the answer as content; where there is none, say so in words.",
);
pub(super) static RESULT_INVALID: Rule = error(
    "result-invalid",
    "The host refused the answer: JSON that is none, metadata that is no object, a reference without uri, an error beside a success.",
    "Build JSON with a serializer, and set `error` exactly where the status is not success.",
);
pub(super) static RESULT_SCHEMA: Rule = error(
    "result-schema",
    "A success does not keep to the tool's own output schema.",
    "Return structured content under the schema, or take the schema out.",
);
pub(super) static ERROR_MISSING: Rule = error(
    "error-missing",
    "A status other than success came without an error.",
    "Say why: a code and one line.",
);
pub(super) static ERROR_UNFIT: Rule = error(
    "error-unfit",
    "The error may not be shown to anyone: a path, a credential, a stack frame, several lines, a blank or long message, or a code of other characters.",
    "Describe, do not quote: one line of at most 512 characters, and a code of letters, digits, `_`, `.` and `-`.",
);
pub(super) static ERROR_CODE_RESERVED: Rule = warning(
    "error-code-reserved",
    "It failed with a code that is the host's own, such as `LIMIT_MEMORY` or `TOOL_TRAPPED`, or with `PERMISSION_DENIED` where nothing was denied.",
    "Choose another code, so that callers know who says it.",
);
pub(super) static LIMIT_PASSED: Rule = error(
    "limit-passed",
    "Input that the guest has to take ended it at a limit of the call.",
    "Bound the input in the schema, work in pieces, or answer with a code of your own before the limit; an operator can raise it with `--limit`.",
);
pub(super) static NEVER_SUCCEEDS: Rule = warning(
    "never-succeeds",
    "Nothing that was tried succeeded, though nothing was denied and the tool declares no effect, or the author gave input.",
    "Give good input with `--arguments FILE`. A guest that waits for an earlier call waits for ever: each call has a fresh instance.",
);
pub(super) static ENDS_DIFFER: Rule = warning(
    "ends-differ",
    "The same call ended in different ways in two fresh instances.",
    "Where the tool has no effects, look for what it reads: clock, randomness, files.",
);
pub(super) static ANSWERS_DIFFER: Rule = note(
    "answers-differ",
    "The same call gave two different answers in fresh instances: clock, randomness or the world is part of them.",
    NOTHING,
);
pub(super) static OUTPUT_DROPPED: Rule = warning(
    "output-dropped",
    "It prints more than is kept of standard output or error.",
    "Print what helps to find a fault; answers go into the result.",
);
pub(super) static PROGRESS_GOES_BACK: Rule = warning(
    "progress-goes-back",
    "Progress was reported that is less than before.",
    "Count `done` up, in one unit.",
);
pub(super) static SMALL_LIMITS: Rule = error(
    "small-limits",
    "Under a small limit the guest broke the contract in place of ending at the limit or failing with an error.",
    "Where an allocation is refused, answer with a failure, and from a sink that may have delivered with `unknown`; a trap there is told as the limit.",
);
pub(super) static ENDS_LATE: Rule = error(
    "ends-late",
    "The call went on for a second after it was cancelled or its deadline had passed, three times out of three.",
    "Wait in host functions of WASI alone; they end with the call.",
);
pub(super) static CANCEL_HONOURED: Rule = note(
    "cancel-honoured",
    "The guest noticed that it was cancelled and answered in its own words.",
    NOTHING,
);
pub(super) static RECEIPT_INVALID: Rule = error(
    "receipt-invalid",
    "The host refused the receipt: another delivery's id, an artifact without name or uri, metadata that is no object.",
    "Return the delivery's id unchanged, and build JSON with a serializer.",
);
pub(super) static PART_UNFIT: Rule = error(
    "part-unfit",
    "The worker staged a part whose name is no plain file name, or whose content is not UTF-8 or over 2 MiB.",
    "Use names of 1 to 255 bytes without `/`, backslash and NUL, not `.` or `..`, and text as content.",
);
pub(super) static COST: Rule = note(
    "cost",
    "What a call costs: the median time on this machine, and the least of 1, 2, 4, … MiB that it ends in as it does without a bound.",
    NOTHING,
);

/// Every rule, in the order of the guide.
pub(super) static RULES: &[&Rule] = &[
    &NOT_LOADABLE,
    &DEFINITIONS_UNUSABLE,
    &DEFINITIONS_DIFFER,
    &NO_TOOLS,
    &DESCRIPTION_MISSING,
    &DESCRIPTION_HIDDEN,
    &NAME_TAKEN,
    &SCHEMA_INVALID,
    &SCHEMA_TAKES_NO_OBJECT,
    &SCHEMA_CONTRADICTS,
    &SCHEMA_EXAMPLE,
    &SCHEMA_UNBOUNDED,
    &SCHEMA_OPEN,
    &SCHEMA_UNDESCRIBED,
    &EFFECT_IMPOSSIBLE,
    &EFFECT_UNDECLARED,
    &GRANT_WANTED,
    &ARGUMENTS_WANTED,
    &EXAMPLE_REFUSED,
    &EXAMPLE_UNEXPECTED,
    &VALIDATE_REFUSES_VALID,
    &VALIDATE_TAKES_INVALID,
    &REFUSAL_WITHOUT_PROBLEM,
    &REFUSAL_POINTER,
    &REFUSAL_REASON,
    &TRAPS,
    &TRAPS_ON_INVALID,
    &RESULT_EMPTY,
    &RESULT_INVALID,
    &RESULT_SCHEMA,
    &ERROR_MISSING,
    &ERROR_UNFIT,
    &ERROR_CODE_RESERVED,
    &LIMIT_PASSED,
    &NEVER_SUCCEEDS,
    &ENDS_DIFFER,
    &ANSWERS_DIFFER,
    &OUTPUT_DROPPED,
    &PROGRESS_GOES_BACK,
    &SMALL_LIMITS,
    &ENDS_LATE,
    &CANCEL_HONOURED,
    &RECEIPT_INVALID,
    &PART_UNFIT,
    &COST,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::RULES;

    #[test]
    fn p3_every_rule_is_listed_once_and_says_what_to_do() {
        let written = include_str!("rules.rs").matches(": Rule = ").count();
        // This test's own line is one of them.
        assert_eq!(RULES.len(), written - 1);
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
        for rule in RULES {
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(rule.id.bytes().all(is_plain), "{}", rule.id);
            assert!(rule.means.ends_with('.') && rule.mend.ends_with('.'));
        }
    }
}
