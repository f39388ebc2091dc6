#!/bin/sh
# SPDX-License-Identifier: MIT
# check_syntax.sh: every shell and Python file of the tree can at least be parsed.
cd "$(dirname "$0")/.." || exit 1
status=0
for file in run test $(find scripts tests bench packaging -name '*.sh'); do
    sh -n "$file" || status=1
done
bash -n .ci/run || status=1
find tests bench scripts packaging examples -name '*.py' -exec python3 -c '
import ast, sys
bad = 0
for name in sys.argv[1:]:
    try:
        ast.parse(open(name, encoding="utf-8").read(), name)
    except SyntaxError as error:
        print(f"{name}:{error.lineno}: {error.msg}")
        bad = 1
sys.exit(bad)' {} + || status=1
exit $status
