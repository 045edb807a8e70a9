#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Objects of policies, or of RTCP, are pure: they need nothing from outside but
# each other, helpers that the compiler may call for copying memory, and what a
# sanitizer adds.
# Usage: purity.sh NM OBJECT...
set -eu
nm=$1
shift
checked=0
ours=$("$nm" --defined-only "$@" | awk '$2 == "T" { print $3 }')
for object in "$@"; do
	case $object in
	*registry.c.o) continue ;; # loads policies; is none
	*/kernel.c.o) continue ;;  # the kernel's parameters; decides nothing
	esac
	impure=$("$nm" -u "$object" | sed 's/^ *[UwV] *//' |
		grep -Ev '^(mem(cpy|move|set|cmp)|__(asan|ubsan|tsan|sanitizer)_.*|_GLOBAL_OFFSET_TABLE_)$' |
		grep -Fxv -- "$ours" || true)
	if [ -n "$impure" ]; then
		echo "$object is not pure, it uses:" "$impure"
		exit 1
	fi
	checked=$((checked + 1))
done
[ "$checked" -ge 3 ] || {
	echo "only $checked objects to check"
	exit 1
}
echo "$checked objects are pure"
