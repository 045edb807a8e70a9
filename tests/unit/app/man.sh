#!/bin/sh
# man.sh PROGRAM PAGE [OPTION]: is the committed page what the program prints now?
# To renew it: PROGRAM OPTION (--man) > PAGE
"$1" "${3:---man}" | diff -u "$2" - || {
	echo "renew it: $1 ${3:---man} > $2"
	exit 1
}
