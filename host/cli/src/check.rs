//! `tidegate check`: the plugin contract's tests, run on somebody's component (SPEC P3).
//!
//! The component is loaded twice, its definitions are looked at, and each tool, the sink and the worker
//! are called: with input that they have to take, twice and in two orders; with arguments that a schema
//! refuses; under small limits. What is found is said in the author's terms. Nothing here has a say in
//! how a host runs the component.

mod bench;
mod definition;
mod examples;
mod findings;
mod generate;
mod judge;
mod junit;
mod others;
mod parts;
mod places;
mod progress;
mod random;
mod report;
mod rounds;
mod rules;
mod setting;
mod small;
mod spoil;
mod tools;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use tidegate::CancellationToken;
use tidegate_contract::grant::Grant;
use tidegate_contract::{Effect, ToolDefinition};
use tidegate_engine::{Anatomy, digest};
use tidegate_sandbox::ambient;

use self::bench::Bench;
use self::definition::Words;
use self::examples::Example;
use self::findings::{Findings, Subject};
use self::progress::Progress;
use self::report::Report;
use self::rounds::Figures;
use self::setting::Setting;
use self::tools::Tool;
use crate::refusal::{self, Exit, Form};
use crate::wanted::COMPONENT_BYTES;
use crate::{artifacts, builtin, interrupt, print};

/// `tidegate check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The component, or `builtin:NAME` for a carried one.
    #[arg(value_name = "FILE", required_unless_present = "rules")]
    component: Option<PathBuf>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
    /// Writes the report to a file too, as the XML of junit, which CI systems read.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Prints every rule, with what to do about it, and checks nothing.
    #[arg(long)]
    rules: bool,
    /// Your own calls, a JSON document a line: {"tool", "arguments", "expect"?}, where `expect` is
    /// success, failed or refused.
    #[arg(long, value_name = "FILE")]
    arguments: Option<PathBuf>,
    /// What made arguments start from: the same seed makes the same ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many sets of arguments are made for each tool.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    cases: u16,
    /// The plugin's settings, a JSON object, as `config` in the config file.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    settings: String,
    /// The folder that relative grants mean [default: the working folder].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Grants something, as for `call`; may be repeated. Without a grant, what needs one is not run.
    #[arg(long, value_name = "KIND[=VALUE]")]
    allow: Vec<String>,
    /// Sets a limit of each call; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    limit: Vec<String>,
}

/// Runs the command.
pub(crate) async fn run(arguments: &CheckArguments) -> Exit {
    let form = Form::of(arguments.json);
    let component = match &arguments.component {
        Some(component) if !arguments.rules => component,
        _ => {
            match form {
                Form::Json => print::json(&rules::RULES),
                Form::Text => print::text(&report::of_rules()),
            }
            return Exit::Success;
        }
    };
    let junit = match &arguments.junit {
        // It is empty until there is a report, so that none of an earlier check is taken for this one's.
        Some(path) => match ambient::write_to(path).with_context(|| place(path)) {
            Ok(file) => Some((path, file)),
            Err(error) => return refusal::usage(&error, form),
        },
        None => None,
    };
    let interrupted = interrupt::token();
    let report = match check(arguments, component, &interrupted).await {
        Ok(report) => report,
        Err(error) => {
            let refused = refusal::usage(&error, form);
            return if interrupted.is_cancelled() {
                Exit::Failed
            } else {
                refused
            };
        }
    };
    match form {
        Form::Json => print::json(&report),
        Form::Text => print::text(&report.text()),
    }
    if let Some((path, mut file)) = junit
        && let Err(error) = file.write_all(junit::document(&report).as_bytes())
    {
        print::warning(&format!("error: {}: {error}", place(path)));
        return Exit::Refused;
    }
    if report.errors == 0 {
        Exit::Success
    } else {
        Exit::Failed
    }
}

fn place(junit: &Path) -> String {
    format!("--junit {}", junit.display())
}

async fn check(
    arguments: &CheckArguments,
    path: &Path,
    interrupted: &CancellationToken,
) -> anyhow::Result<Report> {
    let shown = path.display().to_string();
    let bytes = match shown.strip_prefix("builtin:") {
        Some(name) => builtin::named(name)?.bytes.to_vec(),
        None => ambient::read_file(path, COMPONENT_BYTES)?,
    };
    let anatomy = Anatomy::read(&bytes).with_context(|| shown.clone())?;
    let setting = Setting::read(arguments)?;
    let name = setting::name_of(path);
    let mut report = Report {
        file: shown,
        digest: format!("sha-256:{}", digest(&bytes)),
        seed: arguments.seed,
        calls: 0,
        figures: Vec::new(),
        findings: Vec::new(),
        errors: 0,
        warnings: 0,
        notes: 0,
    };
    let mut findings = Findings::default();
    let loaded = setting.load(&name, &bytes, &mut findings).await?;
    if let Some(plugin) = &loaded
        && let Some(again) = setting.load(&name, &bytes, &mut findings).await?
    {
        compare(plugin.definitions(), again.definitions(), &mut findings);
        let examples = arguments.arguments.as_deref();
        let examples = examples.map(|path| examples::read(path, plugin.definitions()));
        let mut bench = Bench {
            plugin: setting.granted(plugin)?,
            findings,
            progress: Progress::new(),
            interrupted: interrupted.clone(),
            seed: arguments.seed,
            cases: usize::from(arguments.cases),
            calls: 0,
        };
        let examples = examples.transpose()?.unwrap_or_default();
        report.figures = run_all(&mut bench, &anatomy, &examples).await?;
        report.calls = bench.calls;
        findings = bench.findings;
    }
    report.findings = findings.into_sorted();
    Ok(report.counted())
}

fn compare(first: &[ToolDefinition], second: &[ToolDefinition], findings: &mut Findings) {
    let differing = first
        .iter()
        .map(|tool| (tool, second.iter().find(|other| other.name == tool.name)))
        .find(|(tool, other)| *other != Some(*tool));
    let saw = match differing {
        Some((tool, _)) => format!("tool {} was defined in two ways", tool.name),
        None if first.len() != second.len() => {
            format!("{} tools, then {}", first.len(), second.len())
        }
        None => return,
    };
    findings.add(&rules::DEFINITIONS_DIFFER, &Subject::Component, saw);
}

/// Calls everything that the component has.
async fn run_all(
    bench: &mut Bench,
    anatomy: &Anatomy,
    examples: &[Example],
) -> anyhow::Result<Vec<Figures>> {
    let exports = |start: &str| {
        let mut names = anatomy.exports.iter();
        names.any(|name| name.starts_with(start))
    };
    let words = if exports("tidegate:plugin/") {
        Words::Own
    } else {
        Words::Derived
    };
    let plugin = bench.plugin.clone();
    if plugin.definitions().is_empty() && exports("tidegate:plugin/tools@") {
        let (subject, saw) = (Subject::Component, "`definitions` gave an empty list");
        bench.findings.add(&rules::NO_TOOLS, &subject, saw);
    }
    names(bench);
    let mut figures = Vec::new();
    for definition in plugin.definitions() {
        let schemas = definition::look(definition, &anatomy.imports, words, &mut bench.findings);
        let Some(schemas) = schemas else { continue };
        if let Some(allow) = wanted(&definition.effects, &plugin.handles().grant) {
            let subject = Subject::Tool(definition.name.to_string());
            let saw = format!("it was not run; --allow {allow}");
            bench.findings.add(&rules::GRANT_WANTED, &subject, saw);
            continue;
        }
        let tool = Tool {
            definition,
            schemas: &schemas,
            words,
            examples,
        };
        figures.push(tool.check(bench).await?);
    }
    if plugin.is_sink() {
        figures.push(others::sink(bench).await?);
    }
    if plugin.is_worker() {
        figures.push(others::worker(bench).await?);
    }
    Ok(figures)
}

/// Looks for tools whose names are taken by another component.
fn names(bench: &mut Bench) {
    let plugin = bench.plugin.clone();
    for definition in plugin.definitions() {
        let name = definition.name.as_str();
        let mut carried = builtin::BUILTINS.iter();
        let carried = carried.find(|builtin| builtin.tools.contains(&name));
        let saw = match carried {
            Some(builtin) if digest(builtin.bytes) == plugin.digest() => continue,
            Some(builtin) => format!("builtin:{} defines it too", builtin.name),
            None if name == artifacts::TOOL => "the host has it itself".to_owned(),
            None => continue,
        };
        let subject = Subject::Tool(name.to_owned());
        bench.findings.add(&rules::NAME_TAKEN, &subject, saw);
    }
}

/// What would have to be granted before a host runs the tool at all.
fn wanted(effects: &[Effect], grant: &Grant) -> Option<&'static str> {
    let missing = |effect: &Effect| match effect {
        Effect::Read => grant.read.is_empty().then_some("read"),
        Effect::Write => grant.write.is_empty().then_some("write"),
        Effect::Execute => grant.execute.is_empty().then_some("execute=COMMAND"),
        Effect::Network => grant.network.is_empty().then_some("network=ORIGIN"),
    };
    effects.iter().find_map(missing)
}
