//! Real programs through the native executor. The launcher is the example of that name: `cargo test`
//! builds it, `cargo test --test native` alone does not.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![expect(
    clippy::disallowed_methods,
    reason = "a test makes the files that a command meets, and looks at the host from outside"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails as a test does"
)]

mod ends;
mod load;
mod reach;
mod setup;
