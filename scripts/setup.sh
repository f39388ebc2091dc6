# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2048,SC2086,SC2154
# Sourced by ./run and ./test: finds what is missing, installs it by package name, sets up the
# build folders.  Plain sh.  Every step says what it does and does nothing when there is nothing
# to do.  The caller sets $top, the root of the source tree.

say() { printf '== %s\n' "$*" >&2; }
die() { printf 'trivet: %s\n' "$*" >&2; exit 1; }

build_packages="build-essential pkg-config meson ninja-build libuv1-dev libcurl4-openssl-dev
 libssl-dev libsqlite3-dev libpcre2-dev libseccomp-dev libwslay-dev"
test_packages="groff-base less libcmocka-dev clang clang-format valgrind strace python3 git procps nodejs tmux"
# Large, and not installed by ./test: tests that use them say so where they are missing.  So is the
# program nats-server (get_nats).
optional_packages="zsh fish chromium"

# Prints the packages of $* that dpkg does not know as installed.
missing_packages() {
    for p in $*; do
        dpkg-query -W -f='${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed ||
            printf '%s ' "$p"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1; then sudo "$@"
    else die "cannot install packages: not root and no sudo. Install by hand: $*"
    fi
}

apt_updated=
apt() {
    if [ -z "$apt_updated" ]; then
        say "apt-get update"
        as_root apt-get -q update >/dev/null || die "apt-get update failed"
        apt_updated=1
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends "$@" >/dev/null ||
        die "apt-get $* failed"
}

# fetch_packages SUITE DIR PACKAGE...: the packages of another Debian suite into DIR, as *.deb, with a
# private apt state and the system's own sources, in which the suite word is replaced; nothing of the
# system's configuration is changed and nothing is installed.  Their dependencies are not fetched.
# Other distributions have no such sources: there the packages must be installed by hand.
fetch_packages() {
    fetch_of_suite download "$@"
}

# fetch_source SUITE DIR PACKAGE: the archive of its source in the same way.
fetch_source() {
    fetch_of_suite "source --download-only --tar-only" "$@"
}

fetch_of_suite() {
    fetch=$1
    wanted_suite=$2
    dir=$3
    shift 3
    wanted="$*"
    suite=$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")
    [ "$(. /etc/os-release && printf %s "$ID")" = debian ] && [ -n "$suite" ] ||
        die "this distribution has no package of its own: install $wanted by hand, as Debian's" \
            "packages of $wanted_suite or built from source (docs/building.md)"
    mkdir -p "$dir/parts" "$dir/state/lists/partial" "$dir/cache/archives/partial"
    : >"$dir/status"
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ -f "$f" ] && grep -qw "$suite" "$f" || continue
        sed "s/\\b$suite\\b/$wanted_suite/g; s/^Types: deb\$/Types: deb deb-src/; s/^deb \(.*\)/&\\
deb-src \1/" "$f" >"$dir/parts/$(basename "$f")"
    done
    set -- -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/parts" \
        -o Dir::State="$dir/state" -o Dir::State::lists="$dir/state/lists" \
        -o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
        -o APT::Sandbox::User=root
    apt-get "$@" -q update >/dev/null || die "apt-get update for $wanted_suite failed"
    (cd "$dir" && apt-get "$@" -q $fetch $wanted >/dev/null) ||
        die "$wanted could not be downloaded from $wanted_suite"
}

# fetch_yyjson DIR: libyyjson0 and libyyjson-dev of Debian's trixie.  They need only libc6 >= 2.14.
fetch_yyjson() {
    [ "$(. /etc/os-release && printf %s "$ID")" = debian ] || die "yyjson is missing: $yyjson_advice"
    fetch_packages trixie "$1" libyyjson0 libyyjson-dev
}

# get_nats [SUITE]: the program nats-server of that Debian suite (testing) as
# $top/build/nats/SUITE/nats-server; it needs only libc6 >= 2.34.  The package is unpacked, not
# installed: that would start a broker on this machine.  Optional; tests that use it say so where it
# is missing (tests/nats.py).  Prints the version.
get_nats() (
    suite_of_nats=${1:-testing}
    to=$top/build/nats/$suite_of_nats
    if [ ! -x "$to/nats-server" ]; then
        dir=$(mktemp -d) || die "no temporary directory"
        trap 'rm -rf "$dir"' EXIT
        fetch_packages "$suite_of_nats" "$dir" nats-server
        dpkg-deb -x "$dir"/nats-server_*.deb "$dir/unpacked" || die "nats-server cannot be unpacked"
        mkdir -p "$to" && mv "$dir/unpacked/usr/sbin/nats-server" "$to/" || exit 1
    fi
    "$to/nats-server" --version
)

# yyjson is a package of Debian 13.  It is built from the archive that $YYJSON_ARCHIVE names; without
# that, and where the running suite has no package, it is taken from trixie.
install_yyjson() {
    if [ -n "${YYJSON_ARCHIVE:-}" ]; then
        build_yyjson "$YYJSON_ARCHIVE" || exit 1
        return
    fi
    command -v apt-get >/dev/null 2>&1 || die "yyjson is missing: $yyjson_advice"
    apt update
    if apt-cache show libyyjson-dev >/dev/null 2>&1; then
        apt install libyyjson-dev
        return
    fi
    say "libyyjson-dev is not in the running suite, taking it from trixie"
    dir=$(mktemp -d) || die "no temporary directory"
    fetch_yyjson "$dir"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy install "$dir"/*.deb >/dev/null ||
        die "libyyjson-dev could not be installed"
    rm -rf "$dir"
}

yyjson_advice="install libyyjson-dev (0.10 or newer) by hand, or set YYJSON_ARCHIVE to the file or the "
yyjson_advice="${yyjson_advice}address of its source archive (see docs/building.md)"
export PKG_CONFIG_PATH="$top/build/yyjson${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"

# build_yyjson ARCHIVE [DIR]: the static library of yyjson in DIR ($top/build/yyjson), from its source.
build_yyjson() (
    to=${2:-$top/build/yyjson}
    say "building yyjson from $1"
    rm -rf "$to" && mkdir -p "$to/source" || die "$to cannot be made"
    case $1 in
    *://*)
        command -v curl >/dev/null 2>&1 || apt install curl ca-certificates
        curl -fsSL -o "$to/archive" "$1" || die "$1 could not be fetched: $yyjson_advice"
        ;;
    *) cp "$1" "$to/archive" || die "YYJSON_ARCHIVE: $yyjson_advice" ;;
    esac
    tar -xf "$to/archive" -C "$to/source" --strip-components=1 && cd "$to" &&
        cp source/src/yyjson.h . && version=$(sed -n 's/^#define YYJSON_VERSION_STRING "\(.*\)"/\1/p' yyjson.h) &&
        cc -O3 -DNDEBUG -fPIC -fstack-protector-strong -c source/src/yyjson.c -o yyjson.o && ar rc libyyjson.a yyjson.o &&
        printf 'Name: yyjson\nDescription: JSON\nVersion: %s\nCflags: -I%s\nLibs: -L%s -lyyjson\n' \
            "$version" "$to" "$to" >yyjson.pc || die "$1 is no source archive of yyjson: $yyjson_advice"
)

# yyjson_archive DIR: the archive of its source, as $YYJSON_ARCHIVE names it, else that of trixie, which
# is fetched into DIR.
yyjson_archive() {
    if [ -n "${YYJSON_ARCHIVE:-}" ]; then
        printf '%s\n' "$YYJSON_ARCHIVE"
        return
    fi
    fetch_source trixie "$1" yyjson >&2
    ls "$1"/yyjson_*.orig.tar.*z
}

# need_packages LIST: installs what is missing of LIST, and yyjson.
need_packages() {
    missing=$(missing_packages "$*")
    if [ -n "$missing" ]; then
        command -v apt-get >/dev/null 2>&1 ||
            die "this machine has no apt-get; install the counterparts of: $missing libyyjson-dev"
        say "installing $missing"
        apt install $missing
    fi
    if ! pkg-config --exists yyjson 2>/dev/null; then
        install_yyjson
    fi
}

# The runtime library of clang's sanitizers has the number of the suite's clang in its name.
need_clang() {
    need_packages clang
    need_packages "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
}

# Where the home directory cannot be written, what ccache and npm keep lies below the build folder.
[ -w "${HOME:-/}" ] || export CCACHE_DIR="${CCACHE_DIR:-$top/build/.ccache}" \
    npm_config_cache="${npm_config_cache:-$top/build/.npm}"

# need_npm: the packages of test_npm in $top/build/npm, and a Node.js that can run them.  A newer
# Node.js than the distribution has comes from npm too; $top/build/npm/node_modules/.bin is then to
# stand first in PATH.  Returns false, with a reason, when the registry cannot be reached.
test_npm="@copilotkit/aimock@1.43.0 vscode-jsonrpc@8.2.1 @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31
    @agentclientprotocol/sdk@2.4.0"
need_npm() (
    dir=$top/build/npm
    [ "$(cat "$dir/installed" 2>/dev/null)" = "$test_npm" ] && return
    command -v npm >/dev/null 2>&1 || need_packages nodejs npm
    wanted=$test_npm
    case $(node --version) in
    v[0-9].* | v1[0-9].*) wanted="$wanted node@22" ;;
    esac
    say "npm install $wanted"
    mkdir -p "$dir" && cd "$dir" && printf '{"private":true}\n' >package.json || return 1
    if ! npm install --no-audit --no-fund $wanted >npm.log 2>&1; then
        tail -n 20 npm.log >&2
        say "npm could not install $wanted"
        return 1
    fi
    printf '%s\n' "$test_npm" >installed
)

# Everything that decides which files Meson builds: meson.build lists folders, see there.
list_sources() {
    (cd "$top" && find src tests/unit -name '*.c' | LC_ALL=C sort &&
        grep -H '^/\* LINK: ' tests/unit/test_*.c 2>/dev/null; :)
}

# need_build DIR PRESET [TARGET...]: configures $top/DIR with meson/PRESET.ini and $meson_options once,
# and again when files came or went, then builds the targets (all, when none is named).  Says nothing
# when there is nothing to do.  Meson uses ccache where that is installed.  Reads nothing from stdin:
# that belongs to the program.  Two calls for one folder wait for each other.
meson_options=
need_build() {
    (flock 9 && configure_and_build "$@") </dev/null 9>>"$top/$1.lock" || exit 1
}

configure_and_build() {
    dir=$top/$1
    preset=$top/meson/$2.ini
    shift 2
    sources=$(list_sources)
    if [ ! -f "$dir/build.ninja" ]; then
        say "configuring ${dir##*/}"
        meson setup "$dir" "$top" --native-file "$preset" $meson_options >"$dir.log" 2>&1 || build_failed
    elif [ "$sources" != "$(cat "$dir/sources.list" 2>/dev/null)" ]; then
        say "configuring ${dir##*/} again: files came or went"
        meson setup --reconfigure "$dir" "$top" >"$dir.log" 2>&1 || build_failed
    fi
    printf '%s\n' "$sources" >"$dir/sources.list"
    if ! ninja -C "$dir" -n "$@" 2>/dev/null | grep -q 'no work to do'; then
        run_ninja "$@"
    fi
    rm -f "$dir.log"
}

# On a terminal one line shows how far it is.
run_ninja() {
    if [ ! -t 2 ]; then
        say "building ${dir##*/}"
        ninja -C "$dir" "$@" >"$dir.log" 2>&1 || build_failed
        return
    fi
    { ninja -C "$dir" "$@" 2>&1 || echo "ninja failed"; } | tee "$dir.log" |
        sed -un 's|^\(\[[0-9]*/[0-9]*\]\) .*|\1|p' |
        while read -r step; do
            printf '\r== building %s %s' "${dir##*/}" "$step" >&2
        done
    echo >&2
    [ "$(tail -n 1 "$dir.log")" != "ninja failed" ] || build_failed
}

build_failed() {
    grep -v '^\[[0-9]*/[0-9]*\] [A-Z][a-z]*ing ' "$dir.log" | tail -n 60 >&2
    die "the build failed; the whole output is in $dir.log"
}

# link_names DIR: trivet also answers to the names of the programs it stands in for.
link_names() {
    for name in loaf scaiflux kward; do
        [ -e "$top/$1/$name" ] || ln -s trivet "$top/$1/$name"
    done
}
