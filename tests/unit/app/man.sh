#!/bin/sh
# man.sh PROGRAM PAGE [OPTION]: is the committed page what the program prints now?
# A cross build runs it by $CR_EMULATOR. To renew it: PROGRAM OPTION (--man) > PAGE
${CR_EMULATOR-} "$1" "${3:---man}" | diff -u "$2" - || {
	echo "renew it: $1 ${3:---man} > $2"
	exit 1
}
