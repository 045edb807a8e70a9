#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# machine.sh CMAKE SOURCE: SOURCE refuses, when it is configured, to be built for
# machines of 32 bits or of the other byte order, and says why; what decides that
# lets x86-64 and arm64 pass. clang compiles for all of them; nothing is linked.
set -eu
cmake=$1 source=$2
command -v clang >/dev/null || { echo "skipped: no clang"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Configure the project in "$1" for the machine $2.
configure() {
	rm -rf "$dir/build"
	"$cmake" -S "$1" -B "$dir/build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux \
		-DCMAKE_SYSTEM_PROCESSOR="${2%%-*}" -DCMAKE_C_COMPILER=clang \
		-DCMAKE_C_COMPILER_TARGET="$2" \
		-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY >"$dir/said" 2>&1
}
fail() {
	echo "FAILED: $1"
	cat "$dir/said"
	exit 1
}

refused() {
	configure "$source" "$1" && fail "$1 is not refused"
	tr -s ' \n' ' ' <"$dir/said" | grep -qF "This is for ${1%%-*}: $2." ||
		fail "not said of $1: $2"
}
refused i386-linux-gnu "it has 32 bits"
refused arm-linux-gnueabihf "it has 32 bits"
refused s390x-linux-gnu "it is not little-endian"
refused powerpc64-linux-gnu "it is not little-endian"

mkdir "$dir/passes"
cat >"$dir/passes/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(passes LANGUAGES C)
include($source/cmake/machine.cmake)
END
for machine in x86_64-linux-gnu aarch64-linux-gnu; do
	configure "$dir/passes" "$machine" || fail "$machine is refused"
done
