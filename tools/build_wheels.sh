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
# A wheel is built once and run often: the engine in one part has 1 to 6 % fewer instructions a packet-hop
# (docs/performance.md, Build time), in twice the build's time.
one_part='profile.release.package.flowyard-sim.codegen-units=1'
for target in "$@"; do
  if command -v rustup > /dev/null; then rustup --quiet target add "$target"; fi
  maturin build --release --locked --quiet --config "$one_part" --zig --target "$target" --compatibility manylinux2014 --out "$dist"
done
