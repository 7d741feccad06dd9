#!/bin/sh
# Tests {{name}}.wasm by a flow with one step, in a service of its own. Needs curl.
set -u
cd "$(dirname "$0")" || exit

state=$(mktemp -d)
tidegate serve --listen 127.0.0.1:0 --state "$state" 2> "$state/log" &
service=$!
trap 'kill $service; wait $service; rm -rf "$state"' EXIT

# The service says where it listens when it has loaded the plugin.
until base=$(grep -o 'http://[0-9.:]*' "$state/log"); do
  if ! kill -0 $service 2> /dev/null; then
    cat "$state/log"
    exit 1
  fi
  sleep 0.1
done

ask() {
  curl -sS -H "Authorization: Bearer $(cat "$state/operator.token")" "$@"
}

launched=$(ask -H 'Content-Type: application/json' --data @flow.json "$base/v1/flows")
run=$(printf '%s' "$launched" | sed -n 's/.*"run":"\([^"]*\)".*/\1/p')
until view=$(ask "$base/v1/runs/$run"); ! printf '%s' "$view" | grep -q '"status":"running"'; do
  sleep 0.1
done

if printf '%s' "$view" | grep -q '"words":4' && printf '%s' "$view" | grep -q '"count.txt":"4 words\\n"'; then
  echo "ok: it counts words"
else
  echo "FAILED: $launched $view"
  exit 1
fi
