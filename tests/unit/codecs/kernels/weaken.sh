#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weaken.sh CC WEAKEN: in the copy of a library a replaced function is ours, for
# the program and for the library itself, and the library's has its second name,
# as have its tables; what cannot be replaced is refused.
set -eu
cc=$1
weaken=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail()
{
	echo "FAILED: $1"
	exit 1
}

refused()
{
	why=$1
	shift
	if "$weaken" "$@" >out 2>&1; then
		fail "it does not refuse: $*"
	fi
	grep -q "$why" out || fail "not '$why' but '$(cat out)'"
}

cat >one.c <<'END'
int one(void);
int inside(void);
int padding(int n) { return n * n; }
int one(void) { return 1; }
int inside(void) { return one() + 10; }
int table[] = { 1, 2 };
static const int hidden[] = { 7, 8, 9 };
int nth(int n) { return hidden[n]; }
END
cat >two.c <<'END'
int one(void);
int outside(void) { return one() + 100; }
END
cat >ours.c <<'END'
#include <stdio.h>
int inside(void);
int outside(void);
int stock_one(void);
extern int stock_table[];
extern const int stock_hidden[];
int one(void) { return 2; }
int main(void)
{
	printf("%d %d %d %d\n", one(), inside(), outside(), stock_one());
	printf("%d %d\n", stock_table[1], stock_hidden[2]);
	return 0;
}
END
"$cc" -fPIC -fsemantic-interposition -c one.c two.c
ar rcs stock.a one.o two.o

"$weaken" stock.a copy.a one table hidden
"$cc" ours.c copy.a -o ours
[ "$(./ours)" = "2 12 102 1
2 9" ] || fail "replaced: $(./ours)"

touch -d 2001-01-01 copy.a
"$weaken" stock.a copy.a one table hidden
[ -z "$(find copy.a -newer stock.a)" ] || fail "a copy that would not change was written"

refused "does not define three" stock.a other.a one three
cp one.o again.o
ar rs stock.a again.o 2>/dev/null
refused "defines one more than once" stock.a other.a one
mkdir other
cp two.o other/one.o
ar qcs same.a one.o other/one.o
refused "two members of the name one.o" same.a other.a one
[ ! -e other.a ] || fail "a refused copy is there"
