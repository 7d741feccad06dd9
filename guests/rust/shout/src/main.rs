//! Prints its arguments and its standard input in capitals, as a stranger's command might.
//!
//! `--exit N` ends it with that code after that, `--fill N` prints so many bytes first, `--read FILE`
//! a file's text.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Where nobody reads the reason, the exit code still tells.
            drop(writeln!(io::stderr(), "shout: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<u8> {
    let mut code = 0;
    let mut out = io::stdout().lock();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--exit" => code = value().parse().unwrap_or(2),
            "--fill" => out.write_all(&vec![b'x'; value().parse().unwrap_or(0)])?,
            "--read" => writeln!(out, "{}", std::fs::read_to_string(value())?.to_uppercase())?,
            other => writeln!(out, "{}", other.to_uppercase())?,
        }
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    write!(out, "{}", text.to_uppercase())?;
    Ok(code)
}
