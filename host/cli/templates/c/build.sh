#!/bin/sh
# Builds {{name}}.wasm. Needs cargo, and python3 with pip; the compiler is fetched once, and the maker of
# bindings built once, into the user's cache folder.
set -eu
cd "$(dirname "$0")"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/tidegate/guest-tools
tools=$cache/pip/ziglang-0.16.0
if [ ! -d "$tools" ]; then
  rm -rf "$tools.$$"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-compile \
    --no-deps --only-binary :all: --require-hashes --target "$tools.$$" --requirement requirements.txt
  mv -T "$tools.$$" "$tools" || rm -rf "$tools.$$" # another build was faster
fi
bindgen=$cache/bindgen/guest-bindgen-$(cat bindgen/Cargo.lock bindgen/src/main.rs | cksum | cut -d ' ' -f 1)
if [ ! -x "$bindgen" ]; then
  CARGO_TARGET_DIR=$cache/bindgen cargo build --quiet --locked --manifest-path bindgen/Cargo.toml
  cp "$cache/bindgen/debug/guest-bindgen" "$bindgen.$$"
  mv "$bindgen.$$" "$bindgen"
fi

mkdir -p build/bindings
"$bindgen" bindings c wit {{world}} build/bindings
# Zig would reserve 16 MiB for the stack.
ZIG_GLOBAL_CACHE_DIR=$cache/zig ZIG_LOCAL_CACHE_DIR=$cache/zig "$tools/ziglang/zig" cc \
  -target wasm32-wasi -mexec-model=reactor -std=c17 -O2 -s -Wall -Wextra -Werror \
  -Wl,-z,stack-size=65536 -I build/bindings -o build/module.wasm src/*.c build/bindings/*_plugin.c \
  build/bindings/*_component_type.o
"$bindgen" component build/module.wasm {{name}}.wasm
