//! What callers see: calls, observations, deliveries, flows.

mod acting;
mod admission;
mod agents;
mod artifacts;
mod audit;
mod checks;
mod control;
mod deliver;
mod durable;
mod fanout;
mod graph;
mod iterate;
mod killed;
mod native;
mod observe;
mod orders;
mod protocols;
mod read_artifact;
mod refused;
mod resumed;
mod seed;
mod tenants;
mod typed;
pub(crate) mod workers;
