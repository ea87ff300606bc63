#!/usr/bin/env bash
# Builds the ns-3 program $1, a NAME.cc of this folder, as $2. The ns-3 of Debian or Ubuntu is installed if it is
# missing; another one is taken from NS3_PREFIX, where ns-3's own `./ns3 install` has put it.
set -euo pipefail
source=$1
program=$2
modules=(applications nix-vector-routing point-to-point internet traffic-control network core)

flags=()
if [[ -n ${NS3_PREFIX:-} ]]; then
    library=$(find "$NS3_PREFIX"/lib* -name 'libns3*-core*.so' -print -quit 2> /dev/null || true)
    if [[ -z $library ]]; then
        echo "NS3_PREFIX=$NS3_PREFIX has no ns-3 libraries" >&2
        exit 1
    fi
    directory=$(dirname "$library")
    # Such as libns3.37-core-optimized.so
    name=$(basename "$library" .so)
    prefix=${name%-core*}
    suffix=${name#*-core}
    # The older kind of run path also serves the libraries that the libraries need.
    flags+=(-isystem "$NS3_PREFIX/include" -L"$directory" -Wl,--disable-new-dtags,-rpath,"$directory")
    for module in "${modules[@]}"; do flags+=("-l${prefix#lib}-$module$suffix"); done
else
    if [[ ! -e /usr/include/ns3/nix-vector-routing-module.h ]] || ! command -v g++ > /dev/null; then
        if ! grep -qsE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release || ! command -v apt-get > /dev/null; then
            cat >&2 <<'MESSAGE'
make bench-peers compares with ns-3 as Debian and Ubuntu package it, and this system is neither.
Install g++ and ns-3 3.37 with its modules applications, internet, nix-vector-routing and point-to-point,
and say where: make bench-peers NS3_PREFIX=/where/ns3/is/installed
MESSAGE
            exit 1
        fi
        as_root=()
        if [[ $(id -u) != 0 ]]; then
            as_root=(sudo)
        fi
        echo "installing g++ and libns3-dev"
        "${as_root[@]}" apt-get update -qq
        "${as_root[@]}" apt-get install -y -qq --no-install-recommends g++ libns3-dev > /dev/null
    fi
    for module in "${modules[@]}"; do flags+=("-lns3-$module"); done
fi

mkdir -p "$(dirname "$program")"
g++ -std=c++17 -O3 -DNDEBUG -Wall -Wextra -o "$program" "$source" "${flags[@]}"
