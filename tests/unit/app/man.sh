#!/bin/sh
# man.sh PROGRAM PAGE: is the committed man page what the program prints now?
# To renew it: PROGRAM --man > PAGE
"$1" --man | diff -u "$2" - || {
	echo "renew it: $1 --man > $2"
	exit 1
}
