#!/bin/sh
# SPDX-License-Identifier: MIT
# check_lengths.sh: a file over 700 lines, tests included, says why in its head, in a comment line
# that starts with "Long because".
cd "$(dirname "$0")/.." || exit 1
status=0
for file in $(find src tests bench examples -name '*.[ch]' -o -name '*.py' -o -name '*.mjs'); do
    lines=$(wc -l <"$file")
    [ "$lines" -le 700 ] && continue
    head -n 30 "$file" | grep -qE '^[ /*#]*Long because' && continue
    printf '%s has %d lines and gives no reason ("Long because ...") in its head\n' "$file" "$lines"
    status=1
done
exit $status
