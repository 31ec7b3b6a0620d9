#!/usr/bin/env bash
# The sdist of islpy 2026.1 asks for "nanobind >=2.7" to be built, and its generated code calls `arg.none(true)`. In
# nanobind 3.0 `none` has no parameter. So where there is no wheel, as for free-threaded Python 3.14, pip takes the
# newest nanobind and the build ends with "no matching function for call to nanobind::arg_t<>::none(bool)". islpy
# 2026.2.1 is the first that asks for nanobind 3 (`scripts/matrix.py` builds no older one). Takes a C++ compiler and
# some minutes. Exits with 1 if the sdist can be built, or fails in another way.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
if "$folder/env/bin/pip" wheel --verbose --no-cache-dir --no-deps --no-binary islpy --wheel-dir "$folder" \
    islpy==2026.1 > "$folder/log" 2>&1; then
    echo "islpy 2026.1: built"
    exit 1
fi
grep -o -m 1 "no matching function for call to .nanobind::arg_t<>::none(bool)." "$folder/log"
