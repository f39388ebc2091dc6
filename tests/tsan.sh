#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the unit tests with ThreadSanitizer, minutes; a race fails the test.
#
#   tests/tsan.sh            all
#   tests/tsan.sh NAME...    those whose name contains a NAME
set -u
top=$(dirname "$(dirname "$(readlink -f "$0")")")
cd "$top" || exit 1
. scripts/setup.sh
need_clang
need_build build-tsan tsan
TRIVET_SLOW=5 exec python3 tests/check_units.py build-tsan "$@"
