#!/bin/sh
# SPDX-License-Identifier: MIT
# check_format.sh: every C file is laid out as .clang-format says.  Versions of clang-format differ in
# details; Debian 12's 14 decides, another version checks nothing and says so.
# `--write` formats the files instead.
cd "$(dirname "$0")/.." || exit 1
program=clang-format
command -v clang-format-14 >/dev/null 2>&1 && program=clang-format-14
case $($program --version) in
*" 14."*) ;;
*)
    echo "not checked: this needs clang-format 14, there is $($program --version)"
    exit 0
    ;;
esac
mode="--dry-run -Werror"
[ "${1-}" = --write ] && mode=-i
find src tests bench -name '*.[ch]' -exec "$program" $mode {} +
