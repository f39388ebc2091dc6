#!/bin/sh
# SPDX-License-Identifier: MIT
# packaging/deb.sh [--twice] [OUT]: builds the Debian package of the committed source into OUT
# (default: build-deb), with Debian's hardening flags.  --twice builds it in two directories and
# compares the results byte by byte.  Installs what is missing.  lintian's report is printed.
# yyjson is linked statically: Debian 12 and Ubuntu 24.04 have no package of it.
set -eu
top=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$top/scripts/setup.sh"
twice=
[ "${1:-}" = --twice ] && twice=1 && shift
out=$(readlink -f "${1:-$top/build-deb}")

version=$(sed -n "s/^ *version: '\(.*\)',$/\1/p" "$top/meson.build" | head -n 1)
sed -n '1s/^trivet (\(.*\)-[^-]*) .*/\1/p' "$top/packaging/debian/changelog" | grep -qx "$version" ||
    die "packaging/debian/changelog does not begin with version $version of meson.build"
need_packages "$build_packages debhelper lintian fakeroot git"
mkdir -p "$out"

# build_in DIR: the package of HEAD, made in DIR.
build_in() {
    rm -rf "$1"
    mkdir -p "$1"
    git -C "$top" archive --prefix=trivet/ HEAD | tar -x -C "$1"
    cp -r "$1/trivet/packaging/debian" "$1/trivet/debian"
    (cd "$1/trivet" && SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct HEAD) \
        CCACHE_DISABLE=1 DEB_BUILD_OPTIONS=noautodbgsym \
        dpkg-buildpackage -us -uc -b) >"$1/build.log" 2>&1 ||
        { tail -n 40 "$1/build.log" >&2; die "the package does not build; see $1/build.log"; }
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$(yyjson_archive "$work/fetched") && build_yyjson "$archive" "$work/yyjson" || exit 1
export PKG_CONFIG_PATH="$work/yyjson"
say "building the package"
build_in "$work/one"
deb=$(cd "$work/one" && ls trivet_*.deb)
if [ -n "$twice" ]; then
    say "building it again, in another directory"
    build_in "$work/another/place"
    cmp "$work/one/$deb" "$work/another/place/$deb" || die "two builds differ"
    say "both builds are the same: $(sha256sum "$work/one/$deb" | cut -d' ' -f1)"
fi
cp "$work/one/$deb" "$work/one/build.log" "$out"
! dpkg-deb -f "$out/$deb" Depends | grep yyjson || die "the package depends on yyjson"
grep -c 'warning:' "$out/build.log" | sed 's/^/warnings of the compiler: /'
lintian --info --tag-display-limit 0 "$out/$deb" || :
lintian --show-overrides "$out/$deb" | grep '^O:' || :
dpkg-deb -c "$out/$deb" | awk '$1 ~ /^-/ && /bin\/trivet|lib.*\/trivet/ { print $3, $6 }'
stat -c '%s %n' "$out/$deb"
