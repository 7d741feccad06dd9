#!/bin/sh
# Builds {{name}}.wasm. Needs Rust; the target is added where rustup has it not yet.
set -eu
cd "$(dirname "$0")"

target=wasm32-wasip2
[ -d "$("${RUSTC:-rustc}" --print target-libdir --target $target)" ] || rustup target add $target
cargo build --quiet --release --target $target
cp "${CARGO_TARGET_DIR:-target}/$target/release/$(echo {{name}} | tr - _).wasm" {{name}}.wasm
