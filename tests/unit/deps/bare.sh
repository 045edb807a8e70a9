#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bare.sh DEPS: the Debian that DEPS/bare makes can be entered by all users that it
# has, not only root, whatever this machine's umask and folder are; one that is there
# is left alone. debootstrap and dpkg are stand-ins.
set -eu
deps=$(readlink -f "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir bin
cat >bin/debootstrap <<'END'
#!/bin/sh
echo "$3" >>told
mkdir -p "$4/usr/bin" "$4/etc/apt/apt.conf.d"
cp /bin/true "$4/usr/bin/apt-get"
END
printf '#!/bin/sh\n' >bin/dpkg
chmod +x bin/*
export PATH="$dir/bin:$PATH"

fail() {
	echo "FAILED: $1"
	exit 1
}

umask 077
mkdir there
for folder in there new; do
	"$deps/bare" trixie "$folder"
	"$deps/bare" trixie "$folder"
	mode=$(stat -c %a "$folder")
	[ "$mode" = 755 ] || fail "$folder has the mode $mode"
done
[ "$(cat told)" = "$(printf 'trixie\ntrixie')" ] || fail "made: $(cat told)"
