#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unseen.sh SOURCE ARCHIVE CC [CMAKE-OPTION...]: cmake tries the kernels with a
# libopencore-amrnb.a that nobody has seen. They are on if it is ARCHIVE but for
# its bytes, and nobody tries again; off, with a warning, if one of its functions
# is wrong in a bit. All in the current folder.
set -eu
source=$1
archive=$2
cc=$3
shift 3
options=("-DCMAKE_C_COMPILER=$cc" "$@" "-DCR_KERNELS_VERDICTS=$PWD/verdicts")
rm -rf verdicts members one other

fail() {
	echo "FAILED: $1"
	cat said
	exit 1
}

# configure BUILD ARCHIVE: what cmake says goes to "said", in one line.
configure() {
	cmake -S "$source" -B "$1" "${options[@]}" "-DCR_AMRNB_ARCHIVE=$2" \
		>lines 2>&1 || { cat lines; fail "configure $1"; }
	tr -s ' \n' ' ' <lines >said
}

says() {
	grep -q "$1" said || fail "not said: $1"
}

says_not() {
	! grep -q "$1" said || fail "said: $1"
}

mkdir members
(
	cd members
	ar x "$archive"
	echo hello >greeting
	objcopy --add-section .comment.greeting=greeting convolve.o
	ar rcs ../equal.a ./*.o

	objcopy --redefine-sym Convolve=right_convolve convolve.o
	cat >wrong.c <<-'END'
		#include <stdint.h>
		void right_convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n);
		void Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n);
		void Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n)
		{
			right_convolve(x, h, y, n);
			if (n)
				y[n - 1] ^= 1;
		}
	END
	"$cc" -O2 -fPIC -c wrong.c
	ar rcs ../wrong.a ./*.o
)

# The wrong one first: its check is left there, for the other to begin with.
configure one "$PWD/wrong.a"
says "Codec kernels: trying them"
says "CMake Warning"
says "Codec kernels: off, with .*wrong.a.* they are not equal: .*unit_kernels_convolve"
says "about a third of the calls"
says "What to do:"
says_not "unit_kernels_residu"
grep -q "not equal: .*Lost: .*What to do: " \
	one/codecs/kernels/kernels_off.h ||
	fail "kernels_off.h: $(cat one/codecs/kernels/kernels_off.h)"

configure one "$PWD/equal.a"
says "Codec kernels: trying them"
says "Codec kernels: on"
[ ! -e one/kernels-check/tree ] || fail "a check that is over is left there"

# Another build folder takes their word for it.
configure other "$PWD/equal.a"
says_not "trying"
says "Codec kernels: on"
configure other "$PWD/wrong.a"
says_not "trying"
says "Codec kernels: off, with .*wrong.a.* they are not equal: .*unit_kernels_convolve"
