#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# weaken.sh ARCHIVE COPY SYMBOL...: copy a static library so that its functions
# SYMBOL can be replaced. In COPY they are weak, so that another definition in
# the program wins, also for calls from within the library; and each has a
# second name, stock_SYMBOL, for the same code. A SYMBOL may be a table instead,
# also one that only its member sees: it gets the second name, to be read. COPY
# is left alone when it would not change.
#
# AR, NM, OBJCOPY and OBJDUMP name the tools. Fails with a message on stderr
# when a symbol is no function or table that the archive defines exactly once,
# or when a function's member reaches it other than by its symbol, past ours.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
archive=$1
copy=$2
shift 2
: "${AR:=ar}" "${NM:=nm}" "${OBJCOPY:=objcopy}" "${OBJDUMP:=objdump}"

fail()
{
	echo "$1" >&2
	exit 1
}

# The members that define function or table $1.
members_of()
{
	sed 's/^[.][/]//; s/:/ /' symbols |
		awk -v symbol="$1" '$3 ~ /^[TDdRr]$/ && $4 == symbol { print $1 }'
}

# Where in member $1 symbol $2 is and what: SECTION:0xOFFSET,function or object.
place_of()
{
	"$OBJDUMP" -t "$1" | awk -v symbol="$2" '
		BEGIN { kind["F"] = "function"; kind["O"] = "object" }
		$NF == symbol && $3 in kind {
			print $4 ":0x" $1 "," kind[$3]
		}'
}

# Where member $1 reaches its function $2 past the symbol.
bypasses_of()
{
	{
		"$OBJDUMP" -t "$1" &&
			"$OBJDUMP" -r "$1" &&
			"$OBJDUMP" -d -r --no-show-raw-insn "$1"
	} >code || fail "$OBJDUMP cannot read $1"
	awk -v symbol="$2" -f "$here/bypass.awk" code
}

# Every call of function $2 of member $1 must go by its symbol.
check_calls()
{
	bypasses=$(bypasses_of "$1" "$2") || exit 1
	[ -z "$bypasses" ] || fail "$1 reaches its $2 other than by the \
symbol, so that not all calls can be replaced: at $bypasses"
}

weaken()
{
	member=$(members_of "$1")
	case $member in
	'') fail "it does not define $1" ;;
	*[[:space:]]*) fail "it defines $1 more than once" ;;
	esac
	place=$(place_of "$member" "$1")
	case $place in
	*,function)
		check_calls "$member" "$1"
		weak=--weaken-symbol=$1
		;;
	*,object) weak= ;;
	*) fail "$1 of $member is no function or table" ;;
	esac
	"$OBJCOPY" ${weak:+"$weak"} --add-symbol "stock_$1=$place,global" \
		"$member"
}

# stock.a, in this folder, to weak.a.
copy()
{
	twice=$("$AR" t stock.a | sort | uniq -d)
	[ -z "$twice" ] || fail "it has two members of the name $twice"
	"$AR" x stock.a
	"$NM" -A --defined-only ./*.o >symbols
	for symbol; do
		weaken "$symbol"
	done
	# names without spaces, in the order of the archive
	# shellcheck disable=SC2046
	"$AR" rcsD weak.a $("$AR" t stock.a)
}

members=$copy.members
rm -rf "$members"
mkdir -p "$members"
cp "$archive" "$members/stock.a"
(cd "$members" && copy "$@")
cmp -s "$members/weak.a" "$copy" || mv "$members/weak.a" "$copy"
rm -rf "$members"
