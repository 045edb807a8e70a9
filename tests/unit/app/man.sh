#!/bin/sh
# man.sh PROGRAM PAGE [WORD...]: is the committed page what the program prints now? A
# cross build runs it by $CR_EMULATOR. To renew it: PROGRAM WORD... (--man) > PAGE
program=$1 page=$2
shift 2
[ $# -gt 0 ] || set -- --man
${CR_EMULATOR-} "$program" "$@" | diff -u "$page" - || {
	echo "renew it: $program $* > $page"
	exit 1
}
