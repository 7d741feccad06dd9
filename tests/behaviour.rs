//! What callers see: calls, observations, deliveries, flows.

mod acting;
mod admission;
mod audit;
mod checks;
mod deliver;
mod graph;
mod iterate;
mod native;
mod observe;
mod orders;
mod protocols;
mod seed;
mod tenants;
mod typed;
