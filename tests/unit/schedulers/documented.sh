#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Users can look up every policy: when to choose it, whom it protects in
# overload, and what its decisions cost.
# Usage: documented.sh CODEC-RUNNER SOURCE (a cross build: run by $CR_EMULATOR)
set -eu
runner=$1
cd "$2"
decisions=$(sed -n '/^## A scheduling decision/,/^## The simulator/p' docs/performance.md)
checked=0
missing=
for name in $(${CR_EMULATOR-} "$runner" --schedulers | awk '/^[a-z]/ && $1 !~ /^kernel/ { print $1 }'); do
	row="^|.*\`$name\`"
	grep -q "$row" docs/schedulers.md || missing="$missing docs/schedulers.md:$name"
	grep -q "$row" schedulers/README.md || missing="$missing schedulers/README.md:$name"
	echo "$decisions" | grep -q "$row" || missing="$missing docs/performance.md:$name"
	checked=$((checked + 1))
done
[ -z "$missing" ] || {
	echo "no row of a table for:$missing"
	exit 1
}
[ "$checked" -ge 26 ] || {
	echo "only $checked policies to check"
	exit 1
}
echo "$checked policies have a row in each"
