//! The `tidegate` command as people and scripts run it.

mod call;
mod config;
mod documents;
mod flow;
mod misbehave;
