#!/bin/sh
# Tests {{name}}.wasm by calls of its tool.
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

check "it counts words" "4 words" "$(tidegate call {{name}} '{"text":"to be or not"}')"
check "white space is no word" "2 words" "$(tidegate call {{name}} '{"text":" to\n be "}')"
check "other letters are letters" "2 words" "$(tidegate call {{name}} '{"text":"d\u00e9j\u00e0 \"vu\""}')"

tidegate call {{name}} '{"text":"   "}' 2> /dev/null
check "a blank text is refused" 2 $?
tidegate call {{name}} '{"txt":"to be"}' 2> /dev/null
check "an unknown argument is refused" 2 $?

exit "$((failures > 0))"
