#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weaken.sh CC WEAKEN: in the copy of a library a replaced function is ours, for
# the program and for the library itself, and the library's has its second name,
# as have its tables; what cannot be replaced is refused.
set -eu
cc=$1
case $("$cc" -dumpmachine) in
x86_64-*) ;;
*)
	echo "skipped: there are no kernels for $("$cc" -dumpmachine)"
	exit 77
	;;
esac
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

# A member may call its own function only by its symbol.
cat >calls.c <<'END'
int one(int n);
static int helper(int n) { return n + 1; }
int first(int n) { return helper(n) + one(n); }
#ifdef ALIAS
static int alias(int n) __attribute__((alias("one")));
#endif
int one(int n)
{
#ifdef FROM_ITSELF
	return n ? alias(n - 1) : 1;
#endif
	return n;
}
#ifdef DIRECT
int direct(int n) { return alias(n) + 10; }
#endif
#ifdef POINTER
int (*const pointer)(int) = alias;
#endif
int last(int n) { return helper(n) + one(n); }
END
calls()
{
	"$cc" -g -fPIC -fsemantic-interposition "$@" -c calls.c
	rm -f calls.a
	ar rcs calls.a calls.o
}
past="calls.o reaches its one other than by the symbol"
for sections in -fno-function-sections -ffunction-sections; do
	calls $sections
	"$weaken" calls.a calls-copy.a one || fail "calls by the symbol"
	calls $sections -DALIAS -DFROM_ITSELF
	"$weaken" calls.a calls-copy.a one || fail "calls from itself"
	rm calls-copy.a
	calls $sections -DALIAS -DDIRECT
	refused "$past.* at [.]text" calls.a calls-copy.a one
	calls $sections -DALIAS -DPOINTER
	refused "$past.* at [.]data.rel" calls.a calls-copy.a one
	[ ! -e calls-copy.a ] || fail "a copy past which calls go is there"
done

refused "does not define three" stock.a other.a one three
cp one.o again.o
ar rs stock.a again.o 2>/dev/null
refused "defines one more than once" stock.a other.a one
mkdir other
cp two.o other/one.o
ar qcs same.a one.o other/one.o
refused "two members of the name one.o" same.a other.a one
[ ! -e other.a ] || fail "a refused copy is there"
