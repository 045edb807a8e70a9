#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh DEPS: DEPS/install asks apt for what is missing of the sections it
# is given, of alternatives for the first that the release has, and for nothing
# when one of each is there; with --for ARCHITECTURE for the libraries of that one.
# dpkg and apt are stand-ins: $there is installed, $known can be had, what dpkg and
# apt-get are told stands in "told".
set -eu
deps=$(readlink -f "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir bin
cp "$deps/install" .
cat >debian.txt <<'END'
# a comment
[build]
cc
new | old
[run]
python
[other]
cc-for-arm
libone-dev
libtwo-dev | libthree-dev
tool-dev
[test]
never
END

stand_in() {
	cat >"bin/$1"
	chmod +x "bin/$1"
}
stand_in dpkg-query <<'END'
#!/bin/sh
case " $there " in *" $4 "*) printf installed ;; *) exit 1 ;; esac
END
stand_in apt-cache <<'END'
#!/bin/sh
case " $known " in *" $2 "*) echo "Package: $2" ;; *) exit 100 ;; esac
END
stand_in apt-get <<'END'
#!/bin/sh
echo "$*" >>told
[ "$1" != "$fails" ]
END
stand_in dpkg <<'END'
#!/bin/sh
echo "$*" >>told
END
stand_in id <<'END'
#!/bin/sh
echo 0
END
export PATH="$dir/bin:$PATH" there='' known='' fails=''

fail() {
	echo "FAILED: $1"
	exit 1
}

# install SECTION... tells apt-get "$1".
expect() {
	local want=$1
	shift
	rm -f told
	./install "$@" >out 2>&1 || fail "$* with there=$there: $(cat out)"
	touch told
	[ "$(cat told)" = "$want" ] || fail "$* with there=$there: $(cat told)"
}

asks() {
	printf 'update\ninstall -y --no-install-recommends %s' "$1"
}

known="cc new old python" expect "$(asks "cc new python")" build run
known="cc old python" expect "$(asks "cc old")" build
there="python" known="cc old" expect "$(asks "cc old")" build run
there="cc" known="new old" expect "$(asks new)" build
there="cc old" known="new old" expect "" build
there="cc new python" expect "" build run
# What no release has: apt says so of the first.
there="cc" expect "$(asks new)" build

# libraries for programs of another architecture
known="cc-for-arm libone-dev:arm64 libtwo-dev:arm64 tool-dev" expect \
	"--add-architecture arm64
$(asks "cc-for-arm libone-dev:arm64 libtwo-dev:arm64 tool-dev")" --for arm64 other
there="cc-for-arm libone-dev libthree-dev:arm64 tool-dev" known="libone-dev:arm64" expect \
	"--add-architecture arm64
$(asks libone-dev:arm64)" --for arm64 other
there="cc-for-arm libone-dev:arm64 libthree-dev:arm64 tool-dev" expect "" --for arm64 other

known="cc new" fails=install
export known fails
./install build >out 2>&1 && fail "it succeeds where apt does not"
grep -q "apt could not" out || fail "not said: $(cat out)"
