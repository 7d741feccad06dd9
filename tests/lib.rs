//! Nothing: the tests of this package are in `main.rs`, one binary, so that wasmtime links once.
