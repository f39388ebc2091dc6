#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fuzzers from the libraries of build-asan and runs them, one per processor at a time; one
# line for each, exit 1 when one crashed.
#
#   tests/fuzz/run.sh                    all, 30 seconds each
#   tests/fuzz/run.sh TARGET [SECONDS]   one (frame, json, log, ...)
#   tests/fuzz/run.sh all SECONDS        all, so long
#   tests/fuzz/run.sh all same           the same 2000 inputs each time, as ./test does
#
# Seeds come from the tests (seeds.py).  What is found lives in build-fuzz/corpus and is used by the
# next run; an input that crashed lies in build-fuzz/crashes.  To see one again:
#   build-fuzz/bin/fuzz_TARGET build-fuzz/crashes/TARGET-...
set -u
top=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")")
cd "$top" || exit 1
. scripts/setup.sh

target=${1:-all}
seconds=${2:-30}
export LSAN_OPTIONS="suppressions=$top/tests/lsan.supp:print_suppressions=0"
places=build-fuzz/places # fuzzers run here: what they write stays here

build_fuzzer() {
    program=build-fuzz/bin/fuzz_$1
    # No program yet makes find complain, which is as good as a name.
    newer=$(find tests/fuzz src build-asan/lib*.a -name '*.[cha]' -newer "$program" -print -quit \
        2>&1)
    [ -n "$newer" ] || return 0
    clang -std=gnu17 -D_GNU_SOURCE= -Isrc -g -O1 -fno-omit-frame-pointer \
        -Wall -Wextra -Wshadow -Werror -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all "tests/fuzz/fuzz_$1.c" \
        -Wl,--start-group build-asan/lib*.a -Wl,--end-group \
        -luv -lyyjson -ldl -lm -lpthread -Wl,--as-needed -lssl -lcrypto -lwslay -o "$program" ||
        die "fuzz_$1 does not build"
}

# run_fuzzer NAME: prints what came of it; false when it crashed.
run_fuzzer() {
    log=build-fuzz/$1.log
    mkdir -p "build-fuzz/found/$1" build-fuzz/crashes "$places"
    words=
    [ -s "build-fuzz/corpus/$1.dict" ] && words="-dict=../corpus/$1.dict"
    case $seconds in
    same) set -- "$1" 0 -seed=1 -runs=2000 -timeout=60 ;; # beside other work it would not end
    *) set -- "$1" 10 -max_total_time="$seconds" -timeout=10 ../found/"$1" ;;
    esac
    name=$1
    politeness=$2
    shift 2
    (cd "$places" && nice -n "$politeness" ../bin/fuzz_"$name" "$@" \
        -rss_limit_mb=1500 -max_len=4096 ${words:+"$words"} -print_final_stats=1 \
        -artifact_prefix="../crashes/$name-" ../corpus/"$name") >"$log" 2>&1
    status=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    if [ "$status" = 0 ]; then
        printf 'ok     %-10s %9s runs, %5s edges\n' "$name" "${runs:-0}" "${cover:-0}"
        return 0
    fi
    why=$(grep -m 1 -E 'broken promise|runtime error|ERROR:|BUG' "$log")
    printf 'CRASH  %-10s %s\n' "$name" "$why"
    sed -n 's/^.*Test unit written to /       /p' "$log"
    return 1
}

# one NAME: builds and runs it; its line goes to stdout.
one() {
    build_fuzzer "$1" && run_fuzzer "$1"
}

if [ "$target" = --one ]; then # started by the loop below
    one "$3"
    exit
fi
need_packages "$build_packages libcmocka-dev python3"
need_clang
need_build build-asan asan
mkdir -p build-fuzz/bin build-fuzz/corpus
python3 tests/fuzz/seeds.py build-fuzz/corpus >build-fuzz/seeds.log || die "no seeds"
for file in tests/fuzz/fuzz_*.c; do
    name=$(basename "$file" .c)
    name=${name#fuzz_}
    [ "$target" = all ] || [ "$target" = "$name" ] || continue
    printf '%s\n' "$name"
done | xargs -P "$(nproc)" -n 1 sh "$top/tests/fuzz/run.sh" --one "$seconds"
