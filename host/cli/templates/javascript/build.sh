#!/bin/sh
# Builds {{name}}.wasm. Needs npm, which fetches the compiler into node_modules once.
set -eu
cd "$(dirname "$0")"

[ -d node_modules ] || npm ci --no-audit --no-fund --ignore-scripts --loglevel error > /dev/null
# Without `--sync` the component would need an ABI that the host does not speak.
node_modules/.bin/componentize-qjs --wit wit --world plugin --js src/plugin.js \
  --sync --opt-size --minify --output {{name}}.wasm > /dev/null
