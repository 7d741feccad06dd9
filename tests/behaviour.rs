//! What callers see: calls, observations, deliveries, flows.

mod admission;
mod checks;
mod deliver;
mod native;
mod observe;
mod protocols;
mod seed;
