# SPDX-License-Identifier: MIT
# Sourced by ./run and ./test: finds what is missing, installs it by package name, sets up the
# build folders.  Plain sh.  Every step says what it does and does nothing when there is nothing
# to do.

say() { printf '== %s\n' "$*" >&2; }
die() { printf 'trivet: %s\n' "$*" >&2; exit 1; }

build_packages="build-essential pkg-config meson ninja-build libuv1-dev libcurl4-openssl-dev
 libssl-dev libsqlite3-dev libpcre2-dev libseccomp-dev"
test_packages="libcmocka-dev valgrind python3 git procps"

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

# yyjson is a package of Debian 13.  Where the running suite has none, it is taken from trixie
# with a private apt state: the system's own sources with the suite word replaced, nothing of the
# system's configuration changed.  It needs only libc6 >= 2.14.
install_yyjson() {
    apt update
    if apt-cache show libyyjson-dev >/dev/null 2>&1; then
        apt install libyyjson-dev
        return
    fi
    suite=$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")
    [ -n "$suite" ] || die "cannot tell the running suite; install libyyjson-dev by hand"
    say "libyyjson-dev is not in $suite, taking it from trixie"
    dir=$(mktemp -d) || die "no temporary directory"
    mkdir -p "$dir/parts" "$dir/state/lists/partial" "$dir/cache/archives/partial"
    : >"$dir/status"
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ -f "$f" ] && grep -qw "$suite" "$f" || continue
        sed "s/\\b$suite\\b/trixie/g" "$f" >"$dir/parts/$(basename "$f")"
    done
    set -- -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/parts" \
        -o Dir::State="$dir/state" -o Dir::State::lists="$dir/state/lists" \
        -o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache" \
        -o APT::Sandbox::User=root
    as_root apt-get "$@" -q update >/dev/null || die "apt-get update for trixie failed"
    (cd "$dir" && as_root apt-get "$@" -q download libyyjson0 libyyjson-dev >/dev/null) ||
        die "libyyjson-dev could not be downloaded"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy install "$dir"/*.deb >/dev/null ||
        die "libyyjson-dev could not be installed"
    rm -rf "$dir"
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
        command -v apt-get >/dev/null 2>&1 || die "install yyjson (libyyjson-dev)"
        say "installing libyyjson-dev"
        install_yyjson
    fi
}

# need_build DIR MESON-ARGS...: configures DIR once.
need_build() {
    dir=$1
    shift
    [ -f "$dir/build.ninja" ] && return
    say "configuring $dir"
    meson setup "$dir" "$@" >/dev/null || die "meson setup $dir failed; see $dir/meson-logs"
}
