//! The `tidegate` command as people and scripts run it.

mod artifacts;
mod audit;
mod call;
mod check;
mod command_settings;
mod commands;
mod config;
mod deliver;
mod documents;
mod dry_run;
mod environment;
mod flow;
mod inspect;
mod interrupt;
mod misbehave;
mod native;
mod secrets;
mod shell;
mod sinks;
mod terminal;
mod trust;
mod web_search;
