#!/usr/bin/env bash
# Makes a Rust compiler for wasm32-wasip2 out of Debian 12's packages, for machines where
# `rustup target add wasm32-wasip2` is refused. `cargo xtask guests` calls it when it has to.
#
#   rust-wasip2.sh FOLDER        then: RUSTC=FOLDER/bin/rustc cargo build --target wasm32-wasip2
#
# FOLDER must not exist yet, appears only once it is complete, and can be moved. Nothing is
# installed and nothing under /etc or /var changes: packages are fetched through a private view of
# apt and unpacked, so root is not needed either. What it is made of:
#
#   rustc-web, libstd-rust-web*, libllvm*   the compiler that Debian 12 keeps up to date
#   rust-web-src                            source of the standard library, compiled here once
#   wasi-libc                               of Debian 13's backports; see wasi_libc_suite
#   rust-lld, wasm-component-ld             linked to, in the toolchain that is on PATH
set -euo pipefail

target=wasm32-wasip2
# Debian 12's wasi-libc is older than WASI 0.2, and Debian 13's own has no pthread_create, which
# std::thread names even where threads can't be started.
wasi_libc_suite=trixie-backports
needed="guests need either \`rustup target add $target\`, or Debian 12 with a rustup toolchain"

made=$(realpath -m "${1:?usage: $0 FOLDER}")
folder=$made.partial.$$
cargo=${CARGO:-cargo}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$folder"' EXIT

stop() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 1
}

check_machine() {
  local tool
  for tool in apt-get dpkg tar cc rustc; do
    command -v "$tool" > /dev/null || stop "there is no $tool here; $needed"
  done
  . /etc/os-release
  codename=${VERSION_CODENAME:-}
  [ "$codename" = bookworm ] || stop "this is ${PRETTY_NAME:-not Debian}; $needed"
  host=$(rustc -vV | sed -n 's/^host: //p')
  host_tools=$(rustc --print sysroot)/lib/rustlib/$host/bin
  [ -x "$host_tools/wasm-component-ld" ] || stop "there is no wasm-component-ld in $host_tools; $needed"
}

# The machine's own sources, and from the same mirror the suite that has the libc.
open_apt_view() {
  local apt=$scratch/apt mirror
  mkdir -p "$apt"/{sources,lists/partial,cache/archives/partial}
  cp /etc/apt/sources.list.d/*.{list,sources} "$apt/sources" 2> /dev/null || true # either kind may be absent
  cat > "$apt/apt.conf" << END
Dir::Etc::sourceparts "$apt/sources";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
Acquire::Languages "none";
APT::Sandbox::User "$(id -un)";
APT::Default-Release "/^$codename/";
END
  export APT_CONFIG=$apt/apt.conf
  apt-get -qq update || true # one dead third-party source is no reason to stop: the next line checks
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $codename" | head -n 1)
  [ -n "$mirror" ] || stop "apt-get update found no package lists of $codename"
  cat > "$apt/sources/$wasi_libc_suite.sources" << END
Types: deb
URIs: $mirror
Suites: $wasi_libc_suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
  apt-get -qq update || true # as above: a package that is missing stops the download
}

# The one dependency of package $1 whose name starts with $2.
dependency() {
  apt-cache depends "$1" | awk -v start="$2" '$1 == "Depends:" && index($2, start) == 1 { print $2; exit }'
}

unpack_compiler() {
  local library llvm package
  library=$(dependency libstd-rust-web-dev libstd-rust-web-)
  llvm=$(dependency "$library" libllvm)
  (cd "$scratch" && apt-get -qq download rustc-web libstd-rust-web-dev "$library" "$llvm" rust-web-src)
  for package in rustc-web libstd-rust-web-dev "$library" "$llvm"; do
    dpkg -x "$scratch/${package}"_*.deb "$folder"
  done
  rm -rf "$folder"/usr/share

  # It finds its own libraries, wherever the folder is moved to.
  mkdir -p "$folder/bin"
  cat > "$folder/bin/rustc" << 'END'
#!/bin/sh
usr=$(dirname "$(dirname "$(readlink -f "$0")")")/usr
LD_LIBRARY_PATH=$(echo "$usr"/lib/*-linux-gnu) exec "$usr/bin/rustc" "$@"
END
  chmod +x "$folder/bin/rustc"
}

link_linkers() {
  local tool
  mkdir -p "$folder/usr/lib/rustlib/$host/bin"
  for tool in rust-lld gcc-ld wasm-component-ld; do
    ln -s "$host_tools/$tool" "$folder/usr/lib/rustlib/$host/bin/$tool"
  done
}

unpack_libc() {
  local to=$folder/usr/lib/rustlib/$target/lib/self-contained
  (cd "$scratch" && apt-get -qq download "wasi-libc/$wasi_libc_suite")
  dpkg -x "$scratch"/wasi-libc_*.deb "$scratch/libc"
  mkdir -p "$to"
  cp "$scratch/libc/usr/lib/$target"/{crt1-command.o,crt1-reactor.o,libc.a} "$to"
}

# Cargo can compile the standard library beside a program; its pieces then go where rustc looks
# for a target's library. RUSTC_BOOTSTRAP opens the unstable flag on a stable compiler.
build_standard_library() {
  local source=$folder/usr/lib/rustlib/src program=$scratch/program
  dpkg --fsys-tarfile "$scratch"/rust-web-src_*.deb |
    tar -x -C "$folder" --wildcards './usr/src/rustc-*/library' ./usr/lib/rustlib/src
  mkdir -p "$program/src"
  : > "$program/src/lib.rs"
  cat > "$program/Cargo.toml" << 'END'
[package]
name = "program"
edition = "2024"
[profile.release]
panic = "abort"
[workspace]
END
  # Without bitcode in it, a guest that asks for link-time optimisation does not link.
  (cd "$program" && env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET \
    RUSTC="$folder/bin/rustc" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$scratch/built" \
    CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS=-Cembed-bitcode=yes \
    "$cargo" build --quiet --release -Z build-std=std,panic_abort --target "$target")
  find "$scratch/built/$target/release" -name '*.rlib' ! -name 'libprogram*' \
    -exec cp -t "$folder/usr/lib/rustlib/$target/lib" {} +
  rm -rf "$folder/usr/src" "$source"
}

check_machine
[ ! -e "$made" ] || stop "$made exists already"
mkdir -p "$folder"
open_apt_view
unpack_compiler
link_linkers
unpack_libc
build_standard_library
mv -T "$folder" "$made"
