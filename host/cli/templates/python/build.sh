#!/bin/sh
# Builds {{name}}.wasm. Needs python3 with pip; the compiler is fetched once, into the user's cache folder.
set -eu
cd "$(dirname "$0")"

tools=${XDG_CACHE_HOME:-$HOME/.cache}/tidegate/guest-tools/pip/componentize-py-0.25.1
if [ ! -d "$tools" ]; then
  rm -rf "$tools.$$"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-compile \
    --no-deps --only-binary :all: --require-hashes --target "$tools.$$" --requirement requirements.txt
  mv -T "$tools.$$" "$tools" || rm -rf "$tools.$$" # another build was faster
fi

# An empty environment, so that no package of this machine gets into the component.
mkdir -p build/environment/lib/site-packages
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tools VIRTUAL_ENV=$PWD/build/environment \
  "$tools/bin/componentize-py" --wit-path wit --world {{world}} \
  componentize --python-path src plugin --output {{name}}.wasm > build/log || { cat build/log; exit 1; }
