//! The network of a plugin: what its grant lets through, what the host adds, bounds and refuses.

mod addresses;
mod calling;
mod coding;
mod connections;
mod exchange;
mod fields;
mod gate;
mod headers;
mod lengths;
mod memory;
mod redirects;
mod secrets;
mod sizes;
mod sockets;
mod times;
mod tls;
mod wire;
