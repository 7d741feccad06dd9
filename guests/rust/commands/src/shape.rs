//! From arguments to the one command that they stand for (SPEC R2).
//!
//! Every option that can reach a command is written here. A text of the caller only ever becomes
//! an operand behind `--`, a path that cannot be read as anything else, or the value of the option
//! before it.

use crate::arguments::{Arguments, Grep, Kind, Metric};
use crate::path::WorkspacePath;

/// A command and its literal arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) args: Vec<String>,
}

impl Command {
    /// The command for these arguments.
    pub(crate) fn of(arguments: Arguments) -> Self {
        match arguments {
            Arguments::Grep(arguments) => grep(&arguments),
            Arguments::Ls { path, all } => Self::new("ls")
                .args(&["-1"])
                .option(all.then_some("-a"))
                .operands(&[path]),
            Arguments::Cat { path } => Self::new("cat").operands(&[path]),
            Arguments::Find {
                path,
                name,
                kind,
                max_depth,
            } => Self::new("find")
                .args(&[&path.operand(), "-maxdepth", &max_depth.to_string()])
                .valued("-type", kind.map(letter))
                .valued("-name", name.as_deref())
                .args(&["-print"]),
            Arguments::Head { path, lines } => Self::new("head")
                .args(&["-n", &lines.to_string()])
                .operands(&[path]),
            Arguments::Tail { path, lines } => Self::new("tail")
                .args(&["-n", &lines.to_string()])
                .operands(&[path]),
            Arguments::Wc { path, metric } => {
                Self::new("wc").args(&[counting(metric)]).operands(&[path])
            }
            Arguments::Sort {
                path,
                reverse,
                numeric,
                unique,
            } => Self::new("sort")
                .option(reverse.then_some("-r"))
                .option(numeric.then_some("-n"))
                .option(unique.then_some("-u"))
                .operands(&[path]),
            Arguments::Uniq {
                path,
                count,
                ignore_case,
            } => Self::new("uniq")
                .option(count.then_some("-c"))
                .option(ignore_case.then_some("-i"))
                .operands(&[path]),
            Arguments::Cut {
                path,
                fields,
                delimiter,
            } => Self::new("cut")
                .valued("-d", delimiter.as_deref())
                .args(&["-f", &fields])
                .operands(&[path]),
            Arguments::Stat { path } => Self::new("stat").operands(&[path]),
            Arguments::File { path } => Self::new("file").operands(&[path]),
            Arguments::Du { path, max_depth } => Self::new("du")
                .args(&["-k", &format!("--max-depth={max_depth}")])
                .operands(&[path]),
            Arguments::Pwd => Self::new("pwd"),
        }
    }

    fn new(name: &'static str) -> Self {
        Self {
            name,
            args: Vec::new(),
        }
    }

    fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// An option that was asked for.
    fn option(self, option: Option<&str>) -> Self {
        self.args(option.as_slice())
    }

    /// An option with its value, where there is one.
    fn valued(self, option: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.args(&[option, value]),
            None => self,
        }
    }

    /// Paths, behind the mark that ends the options.
    fn operands(self, paths: &[WorkspacePath]) -> Self {
        let mut command = self.args(&["--"]);
        command
            .args
            .extend(paths.iter().map(WorkspacePath::operand));
        command
    }
}

fn grep(arguments: &Grep) -> Command {
    let mut command = Command::new("grep")
        .args(&["-n"])
        .option(arguments.recursive.then_some("-R"))
        .option(arguments.ignore_case.then_some("-i"))
        .option(arguments.fixed_strings.then_some("-F"))
        .args(&["--", &arguments.pattern]);
    let paths = arguments.paths.iter().map(WorkspacePath::operand);
    command.args.extend(paths);
    command
}

fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "f",
        Kind::Directory => "d",
    }
}

fn counting(metric: Metric) -> &'static str {
    match metric {
        Metric::Lines => "-l",
        Metric::Words => "-w",
        Metric::Bytes => "-c",
    }
}

#[cfg(test)]
mod tests;
