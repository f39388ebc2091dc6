#!/bin/sh
# SPDX-License-Identifier: MIT
# check_ldd.sh PROGRAM: the core links libc, libuv and yyjson, and what these bring along.
# Everything else belongs into a module, because it would cost every start.
extra=$(ldd "$1" | awk '{print $1}' | sed 's|.*/||' |
    grep -vE '^(linux-vdso|libc|libuv|libyyjson|libpthread|libdl|librt|ld-linux.*)\.so')
if [ -n "$extra" ]; then
    printf '%s links more than it may:\n%s\n' "$1" "$extra"
    exit 1
fi
