//! Guests, files and callers that mean harm.

mod answers;
mod artifacts;
mod asking;
mod cache;
mod components;
mod files;
mod grants;
mod irregular;
mod limits;
mod links;
mod module;
mod output;
mod peaks;
mod plugins;
mod reach;
mod read_only;
mod seen;
mod slots;
mod times;
mod tools;
mod wat;
mod workers;
