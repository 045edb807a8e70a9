#!/bin/sh
# reference.sh PROGRAM PAGE: is the page's reference what the program prints now? A
# cross build runs it by $CR_EMULATOR.
renew="sed -i '/^<!-- reference/q' $2 && $1 reference >>$2"
grep -q '^<!-- reference' "$2" || {
	echo "$2 has no line that begins with '<!-- reference'"
	exit 1
}
new=$(mktemp) || exit 1
trap 'rm -f "$new"' EXIT
${CR_EMULATOR-} "$1" reference >"$new" || exit 1
sed '1,/^<!-- reference/d' "$2" | diff -u - "$new" || {
	echo "renew it: $renew"
	exit 1
}
