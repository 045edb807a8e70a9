# SPDX-License-Identifier: Apache-2.0
#
# awk -v symbol=NAME -f bypass.awk: where a member of a static library refers to
# its function NAME other than by that symbol: by an alias, by the place in the
# section, or without a relocation. Such a call cannot be replaced. Prints
# SECTION+0xOFFSET of each; reads what objdump prints with -t, then with -r, then
# with -d -r --no-show-raw-insn.
#
# Only this member is looked at: not calls from others by a second global name.
#
# The function's own code may: once there, it stays in the library's. So may
# what is not run, the tables for unwinding and debugging.

function number(hex, i, n)
{
	sub(/^0x/, "", hex)
	n = 0
	for (i = 1; i <= length(hex); i++)
		n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return n
}

# Offset @at of this section refers to @target in section @to.
function refer(at, to, target, offset)
{
	offset = number(at)
	if (to != home || target != start)
		return
	if (section != home || offset < start || offset >= start + size)
		print section "+0x" at
}

# Of [type] at offset @at against @name or NAME+0xADDEND. The processor adds a
# relative one to the address behind its four bytes; those in tables, as of a
# switch, have another origin, and lead into a function, not to one.
function relocation(at, type, name, addend)
{
	if (section ~ /^[.](eh_frame|debug)/)
		return
	addend = 0
	if (type ~ /PC|PLT/) {
		if (section !~ /^[.]text/)
			return
		addend = 4
	}
	if (match(name, /[-+]0x[0-9a-f]+$/)) {
		addend += number(substr(name, RSTART + 1)) * \
			  (substr(name, RSTART, 1) == "-" ? -1 : 1)
		name = substr(name, 1, RSTART - 1)
	}
	if (name != symbol && name in place)
		refer(at, place[name], value[name] + addend)
}

# The instruction before this line, unless that is its relocation.
function instruction()
{
	if (target != "")
		refer(where, section, number(target))
	target = ""
}

# -t: VALUE FLAGS SECTION, a tab, SIZE NAME
/^[0-9a-f]+ .*\t[0-9a-f]+ / {
	split($0, half, "\t")
	words = split(half[1], left, " ")
	split(half[2], right, " ")
	place[$NF] = left[words]
	value[$NF] = number($1)
	if ($NF == symbol) {
		home = left[words]
		start = number($1)
		size = number(right[1])
	}
	next
}

# -r: OFFSET TYPE VALUE
/^RELOCATION RECORDS FOR / {
	section = $4
	gsub(/^\[|\]:$/, "", section)
}
/^[0-9a-f]+ +R_/ {
	at = $1
	sub(/^0+/, "", at)
	relocation(at == "" ? "0" : at, $2, $3)
}

# -d -r: OFFSET: INSTRUCTION, where it refers to code ending in TARGET <NAME>
/^Disassembly of section / {
	instruction()
	section = $4
	sub(/:$/, "", section)
}
/^[ \t]+[0-9a-f]+:[ \t]+R_/ {
	target = ""
}
/^ *[0-9a-f]+:\t/ && !/:[ \t]+R_/ {
	instruction()
	if ($0 ~ /[ \t](0x)?[0-9a-f]+ <[^>]*>$/) {
		where = $1
		sub(/:$/, "", where)
		target = $(NF - 1)
	}
}
END {
	instruction()
}
