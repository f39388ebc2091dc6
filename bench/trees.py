# SPDX-License-Identifier: MIT
"""Trees of made-up sources for search.py: the same bytes in every run.

A file is a sequence of blocks drawn from a stock of functions and comments, so that words repeat as
they do in real sources.  What a pattern of search.py looks for is planted at a known rate.
"""
import os
import random

NOUNS = ("buffer cursor handle index packet parser record region request sample session socket "
         "stream string symbol table target thread token vector widget window worker").split()
VERBS = "append build check clear close count fetch find flush format init load merge open parse " \
        "push read reset scan send sort store update write".split()
TYPES = ["int", "size_t", "bool", "void", "const char *", "struct item *", "uint32_t"]
ENDINGS = [".c"] * 30 + [".h"] * 14 + [".py"] * 18 + [".js"] * 14 + [".ts"] * 8 + [".md"] * 8 + \
          [".json"] * 5 + [".txt"] * 3
FOLDERS = "src lib include core util net store view model test docs tools app driver proto".split()
IGNORE = "# made by the build\n*.o\n*.log\n/out/\nbuild/\n*.tmp\n!keep.log\ncache-*/\n/local.mk\n"


def name(rng):
    return f"{rng.choice(NOUNS)}_{rng.choice(VERBS)}"


def function(rng):
    """Some 10 to 40 lines of something like C."""
    lines = [f"/* Returns the {rng.choice(NOUNS)} of the {rng.choice(NOUNS)}, or nothing. */",
             f"static {rng.choice(TYPES)} {name(rng)}_{rng.randrange(99)}(struct {rng.choice(NOUNS)} *x, "
             f"size_t n)", "{"]
    for _ in range(rng.randrange(6, 36)):
        kind = rng.randrange(6)
        lines.append([
            f"    if ({name(rng)}(x, {rng.randrange(1000)}) == 0)\n        return {rng.randrange(9)};",
            f"    for (size_t i = 0; i < n; i++)\n        {name(rng)}(x->items[i]);",
            f"    x->{rng.choice(NOUNS)} = {name(rng)}(x->{rng.choice(NOUNS)}, n + {rng.randrange(64)});",
            f"    log_debug(\"{rng.choice(VERBS)} of %zu {rng.choice(NOUNS)}s\", n);",
            f"    // {rng.choice(VERBS)} the {rng.choice(NOUNS)} before the {rng.choice(NOUNS)} goes",
            f"    memcpy(x->bytes + {rng.randrange(512)}, \"{rng.getrandbits(48):x}\", n);",
        ][kind])
    return "\n".join(lines + ["}", "", ""])


# text: share of the files that get it, lines per file
PLANTS = {
    "    quixotic_marker(x);\n": (0.0004, 1),
    "    register_callback(x, on_event);\n": (0.3, 4),
    "    checkpoint_reached(n, 0);\n": (0.05, 3),
    "    parse_header_v2(x);\n": (0.01, 2),
    "    render_config_v2(x);\n": (0.01, 2),
    "    struct HttpHandler204 *h;\n": (0.02, 1),
    "    int Käse = 1; /* größer */\n": (0.02, 2),
}


def text_of(rng, stock):
    size, parts, n = rng.lognormvariate(8.1, 1.0), [], 0
    while n < size:
        parts.append(rng.choice(stock))
        n += len(parts[-1])
    for line, (share, times) in PLANTS.items():
        if rng.random() < share:
            for _ in range(times):
                parts.insert(rng.randrange(len(parts) + 1), line)
    return "".join(parts).encode()


def folders(rng, base, n):
    """n folders below base, most of them three to six levels deep."""
    made = [base]
    while len(made) < n:
        up = made[-1] if rng.random() < 0.3 else rng.choice(made)
        path = os.path.join(up, f"{rng.choice(FOLDERS)}{len(made)}")
        if path.count("/") - base.count("/") < 8:
            os.mkdir(path)
            made.append(path)
    return made


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def make_sources(base, n_files):
    """A repository of n_files sources with ignore files; returns the bytes written."""
    rng = random.Random(4)
    stock = [function(rng) for _ in range(600)]
    os.makedirs(os.path.join(base, ".git", "info"))
    put(os.path.join(base, ".git", "HEAD"), b"ref: refs/heads/main\n")
    put(os.path.join(base, ".gitignore"), IGNORE.encode())
    dirs, total = folders(rng, base, max(2, n_files // 20)), 0
    for path in rng.sample(dirs, len(dirs) // 20):
        put(os.path.join(path, ".gitignore"), f"*.bak\n/{rng.choice(FOLDERS)}*.gen.c\n".encode())
    for i in range(n_files):
        ending = rng.choice(ENDINGS)
        if rng.random() < 0.04:
            ending = rng.choice([".o", ".log", ".tmp", ".bak"])
        data = text_of(rng, stock)
        if rng.random() < 0.02:
            data = bytes(rng.randbytes(2000)) + b"\0" + data        # a picture, say
        put(os.path.join(rng.choice(dirs), f"{rng.choice(NOUNS)}{i}{ending}"), data)
        total += len(data)
    return total


def make_names(base, n_files):
    """n_files empty files."""
    rng = random.Random(5)
    os.mkdir(base)
    dirs = folders(rng, base, max(2, n_files // 20))
    for i in range(n_files):
        ending = ".proto" if rng.random() < 0.03 else rng.choice(ENDINGS)
        put(os.path.join(rng.choice(dirs), f"{rng.choice(NOUNS)}{i}{ending}"), b"")
