#!/bin/sh
# Tests {{name}}.wasm by deliveries to it. What the sink prints is on stdout, the receipt on stderr.
set -u
cd "$(dirname "$0")" || exit

failures=0

# check NAME EXPECTED GOT
check() {
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
  else
    echo "FAILED: $1: expected \`$2\`, got \`$3\`"
    failures=$((failures + 1))
  fi
}

check "it prints the message" "to be or not" "$(tidegate deliver < delivery.json 2> /dev/null)"
receipt=$(tidegate deliver < delivery.json 2>&1 > /dev/null)
check "a delivery is accepted" accepted "$(printf '%s' "$receipt" | grep -o accepted)"

blank='{"deliveryId":"d2","message":{"role":"assistant","content":"  "}}'
printed=$(printf '%s' "$blank" | tidegate deliver 2> /dev/null)
check "a blank message is rejected" 1 $?
check "and not printed" "" "$printed"

exit "$((failures > 0))"
