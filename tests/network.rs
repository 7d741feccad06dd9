//! The network of a plugin: what its grant lets through, what the host adds, bounds and refuses.

mod exchange;
