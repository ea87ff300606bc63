#!/usr/bin/env bash
# build_wheels.sh TARGET ...: writes into dist/ a source distribution and, built from it, a wheel for each of rustc's
# targets. A wheel thus proves that the source distribution lacks nothing. Needs maturin and ziglang.
set -euo pipefail
dist=$PWD/dist
sources=$PWD/target/sdist
export CARGO_TARGET_DIR=$PWD/target
rm -rf "$dist" "$sources"
mkdir -p "$sources"
maturin sdist --out "$dist"
tar -xzf "$dist"/*.tar.gz -C "$sources" --strip-components 1
cd "$sources"
for target in "$@"; do
  if command -v rustup > /dev/null; then rustup --quiet target add "$target"; fi
  maturin build --release --locked --quiet --zig --target "$target" --compatibility manylinux2014 --out "$dist"
done
