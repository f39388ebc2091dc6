#!/bin/sh
# SPDX-License-Identifier: MIT
# packaging/tarball.sh [OUT]: builds trivet-VERSION-linux-ARCH.tar.gz of the committed source into
# OUT (default: build-tarball).  It holds the program, its modules and the libraries they need, and
# runs from any directory, without root, on a Linux whose libc is as new as this machine's.
set -eu
top=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$top/scripts/setup.sh"
out=$(readlink -f "${1:-$top/build-tarball}")

need_packages "$build_packages git patchelf"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/source"
SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct HEAD)
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1
git -C "$top" archive HEAD | tar -x -C "$work/source"

say "building"
eval "$(DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --export=sh)"
CFLAGS="$CFLAGS -ffile-prefix-map=$work=."
export CFLAGS
meson setup "$work/build" "$work/source" --prefix=/opt/trivet --libdir=lib --libexecdir=lib \
    --buildtype=plain >"$out/build.log" 2>&1 || die "see $out/build.log"
ninja -C "$work/build" >>"$out/build.log" 2>&1 || die "see $out/build.log"
DESTDIR=$work/stage meson install -C "$work/build" --no-rebuild --strip >>"$out/build.log" 2>&1 ||
    die "see $out/build.log"

version=$("$work/build/trivet" --version | cut -d' ' -f2)
name=trivet-$version-linux-$(uname -m)
root=$work/$name
mv "$work/stage/opt/trivet" "$root"
lib=$root/lib/trivet
doc=$root/share/doc/trivet
mkdir -p "$doc/licenses"
cp -r "$work/source/README.md" "$work/source/LICENSE" "$work/source/CHANGELOG.md" \
    "$work/source/SECURITY.md" "$work/source/docs" "$work/source/examples" "$doc"

# Every library but those of libc itself, which must come from the system; with its licence.
for file in $(ldd "$root/bin/trivet" "$lib"/*.so | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    sort -u); do
    case ${file##*/} in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | ld-linux*) continue ;;
    esac
    cp -L "$file" "$lib/"
    strip --strip-unneeded "$lib/${file##*/}"
    package=$(dpkg-query -S "$(readlink -f "$file")" "$file" 2>/dev/null | head -n 1 | cut -d: -f1)
    [ -n "$package" ] || die "no package has $file"
    cp -L "/usr/share/doc/$package/copyright" "$doc/licenses/$package"
    printf '%s %s %s\n' "${file##*/}" "$package" \
        "$(dpkg-query -W -f='${Version}\n' "$package" | head -n 1)" >>"$doc/libraries.txt"
done
patchelf --set-rpath '$ORIGIN/../lib/trivet' "$root/bin/trivet"
for file in "$lib"/*.so*; do
    patchelf --set-rpath '$ORIGIN' "$file"
done

tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
    --mtime="@$SOURCE_DATE_EPOCH" -c "$name" | gzip -9n >"$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" >SHA256SUMS)
cd "$root"
stat -c '%s %n' bin/trivet lib/trivet/trivet-*
du -sb lib/trivet bin | awk '{ print $1, $2 "/" }'
stat -c '%s %n' "$out/$name.tar.gz"
