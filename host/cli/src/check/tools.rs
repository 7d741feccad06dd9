//! The checks of one tool: arguments that it has to take, and some that its schema refuses.

use tidegate_contract::{ToolDefinition, Value};

use super::bench::{Bench, Input};
use super::definition::{Schemas, Words};
use super::examples::{Example, Expected};
use super::findings::Subject;
use super::generate::Maker;
use super::judge::{self, Asked};
use super::random::Random;
use super::rounds::{Case, Figures, Rounds};
use super::{places, rules, spoil};

/// What one tool is checked with.
pub(super) struct Tool<'a> {
    pub(super) definition: &'a ToolDefinition,
    pub(super) schemas: &'a Schemas,
    pub(super) words: Words,
    pub(super) examples: &'a [Example],
}

impl Tool<'_> {
    /// Runs the checks.
    ///
    /// # Errors
    ///
    /// The host failed, or somebody interrupted it.
    pub(super) async fn check(&self, bench: &mut Bench) -> anyhow::Result<Figures> {
        let name = self.definition.name.as_str();
        bench.progress.about(name);
        let cases = self.cases(bench);
        let mut rounds = Rounds::new(self.subject(), cases)
            .of_tool(&self.definition.effects, self.schemas.output.as_ref());
        let figures = rounds.run(bench).await?;
        self.conclude(bench, &rounds);
        let is_slow = bench.findings.has(&rules::LIMIT_PASSED, &rounds.subject);
        if self.words == Words::Own
            && !is_slow
            && let Some(case) = rounds.cases.first()
        {
            self.bad(bench, &case.input).await?;
        }
        Ok(figures)
    }

    fn subject(&self) -> Subject {
        Subject::Tool(self.definition.name.to_string())
    }

    fn input(&self, arguments: Value) -> Input {
        Input::Arguments(self.definition.name.clone(), arguments)
    }

    /// What the author gave, then what can be made.
    fn cases(&self, bench: &mut Bench) -> Vec<Case> {
        let mut cases = Vec::new();
        let name = self.definition.name.as_str();
        for example in self.examples.iter().filter(|example| example.tool == name) {
            let refused = self.schemas.input.check(&example.arguments).err();
            match (refused, example.expect) {
                (Some(_), Expected::Refused) => {}
                (Some(problems), _) => {
                    let saw = format!("line {}: {}", example.line, judge::listed(&problems));
                    bench
                        .findings
                        .add(&rules::EXAMPLE_REFUSED, &self.subject(), saw);
                }
                (None, expect) => cases.push(Case {
                    input: self.input(example.arguments.clone()),
                    given: Some(expect),
                }),
            }
        }
        let schema = &self.definition.input_schema;
        let random = Random::new(bench.seed);
        let made = Maker::new(schema, &self.schemas.input, random).good(bench.cases);
        if made.is_empty() && cases.is_empty() {
            let saw = "none could be made from the schema";
            bench
                .findings
                .add(&rules::ARGUMENTS_WANTED, &self.subject(), saw);
        }
        cases.extend(made.into_iter().map(|arguments| Case {
            input: self.input(arguments),
            given: None,
        }));
        cases
    }

    /// What the ends of the good calls say together.
    fn conclude(&self, bench: &mut Bench, rounds: &Rounds<'_>) {
        let (refused, made) = rounds.refused();
        let all_refused = made > 0 && refused == made;
        let was_given = rounds.cases.iter().any(|case| case.given.is_some());
        let subject = &rounds.subject;
        if all_refused && !places::has_free_text(&self.definition.input_schema) {
            let saw = format!("{refused} of {made}; {}", rounds.example());
            bench
                .findings
                .add(&rules::VALIDATE_REFUSES_VALID, subject, saw);
        } else if all_refused && !was_given {
            let saw = format!("{refused} of {made} that were made were refused");
            bench.findings.add(&rules::ARGUMENTS_WANTED, subject, saw);
        } else if rounds.never_succeeded() && self.words == Words::Own {
            // What a tool touches may not be there; without effects its arguments are all there is.
            let rule = if was_given || self.definition.effects.is_empty() {
                &rules::NEVER_SUCCEEDS
            } else {
                &rules::ARGUMENTS_WANTED
            };
            let saw = format!("{} inputs; {}", rounds.cases.len(), rounds.example());
            bench.findings.add(rule, subject, saw);
        }
    }

    /// Arguments that the schema refuses, past the host's own check.
    async fn bad(&self, bench: &mut Bench, good: &Input) -> anyhow::Result<()> {
        let Input::Arguments(_, Value::Object(good)) = good else {
            return Ok(());
        };
        let plugin = bench.plugin.clone();
        let spoilt = spoil::bad(&self.definition.input_schema, &self.schemas.input, good);
        // Some of each property rather than all of the first.
        let step = spoilt.len().div_ceil(bench.cases.max(1) * 2).max(1);
        for spoilt in spoilt.into_iter().step_by(step) {
            let input = self.input(spoilt.arguments(good));
            let ended = bench.call(&plugin, &input).await?;
            let asked = Asked {
                subject: &self.subject(),
                effects: None,
                output: None,
                input: &input,
            };
            judge::invalid(&ended, &spoilt.what, asked, &mut bench.findings);
            if judge::is_slow(&ended) {
                break;
            }
        }
        Ok(())
    }
}
