#!/usr/bin/env bash
# Builds csg-htsim from the checkout $1 in the folder $2, with its own flags: htsim_ndp, and tcp.cc of this folder.
# The checkout stays as it is; a second call compiles nothing.
set -euo pipefail
checkout=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)

if [[ ! -e $checkout/sim/datacenter/main_ndp.cpp ]]; then
    echo "$checkout has no sim/datacenter/main_ndp.cpp: a checkout of csg-htsim is wanted" >&2
    exit 1
fi

if [[ ! -e $folder/sim ]]; then
    # Sources alone: what somebody built there may have other flags.
    cp -R "$checkout/sim" "$folder/sim"
    find "$folder/sim" -name '*.o' -delete -o -name '*.a' -delete -o -name 'htsim_*' -type f -perm -u+x -delete
fi
make --silent --jobs="$(nproc)" -C "$folder/sim" libhtsim.a > "$folder/build.log" 2>&1
cd "$folder/sim/datacenter"
make --silent --jobs="$(nproc)" htsim_ndp >> "$folder/build.log" 2>&1
objects=(firstfit.o fat_tree_topology.o fat_tree_switch.o connection_matrix.o)
if [[ $here/tcp.cc -nt $folder/tcp ]]; then
    g++ -std=c++11 -O2 -I.. -I. "$here/tcp.cc" "${objects[@]}" -L.. -lhtsim -o "$folder/tcp"
fi
