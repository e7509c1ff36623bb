#!/usr/bin/env bash
# Makes the machine able to build and test hearth: installs the Debian packages that are missing, or says
# exactly what to install. Asks the network for nothing when nothing is missing.
#
# usage: tools/setup.sh
#   HEARTH_SETUP=skip   check nothing and install nothing (for machines that are not Debian)
set -euo pipefail

# Debian 12 names. ARCHITECTURE.md says what each library is for.
packages=(
  g++ cmake ninja-build make
  libboost1.81-dev nlohmann-json3-dev libcli11-dev libfmt-dev libssl-dev
  prometheus-cpp-dev
  libgtest-dev libgmock-dev
)
rust_minimum=1.85
cmake_minimum=3.25
gcc_minimum=12

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }  # minimum, version

[ "${HEARTH_SETUP:-}" = skip ] && exit 0

if ! have dpkg-query; then
  say "this is not a Debian system; hearth needs what these Debian packages hold:"
  say "  ${packages[*]} python3 python3-pip python3-venv"
  die "when they are there, set HEARTH_SETUP=skip"
fi

# One query for all packages. One that was never installed is not an error here, it is an answer.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' "${packages[@]}" 2>/dev/null |
  awk '$2 == "ii" { print $1 }' || true)
missing=()
for package in "${packages[@]}"; do
  # A tool may come from elsewhere (a newer cmake, say); a library has to be Debian's.
  case $package in
    g++ | cmake | make) have "$package" && continue ;;
    ninja-build) have ninja && continue ;;
  esac
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
# Python may come from elsewhere too, so it is asked what it can do.
have python3 || missing+=(python3)
python3 -c 'import pip' 2>/dev/null || missing+=(python3-pip)
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
# Debian's rustc is too old for the crates; rustc-web is its newer build, and rustfmt comes along for `make format`.
# An old Rust is not replaced unasked.
have rustc || missing+=(rustc-web)
have cargo || missing+=(cargo-web rustfmt-web)

if [ ${#missing[@]} -gt 0 ]; then
  install="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" != 0 ] || ! have apt-get; then
    say "packages are missing; as root, run:"
    printf '%s\n' "$install" >&2
    exit 1
  fi
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  # The list of packages is fetched only when the one at hand does not do.
  if ! $install >"$log" 2>&1 && ! { apt-get update && $install; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "could not install the packages; is there a network? By hand, as root: apt-get update && $install"
  fi
fi

version=$(g++ -dumpfullversion -dumpversion)
at_least "$gcc_minimum" "$version" || die "g++ is $version, $gcc_minimum or newer is needed"
version=$(cmake --version | awk 'NR == 1 { print $3 }')
at_least "$cmake_minimum" "$version" || die "cmake is $version, $cmake_minimum or newer is needed"
for tool in rustc cargo; do
  version=$("$tool" --version | awk '{ print $2 }')
  at_least "$rust_minimum" "${version%%-*}" ||
    die "$tool is $version, $rust_minimum or newer is needed: update it with rustup, or install rustc-web and cargo-web"
done
