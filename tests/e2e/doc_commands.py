#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command of the documents runs: the blocks ```sh and ```python of README.md and docs/*.md, and
the lines of examples/* that name the engine in the build folder.

The blocks of a page run one after another in one shell, in a small project of their own, with trivet
in PATH and without a network.  A block ```output holds what the block before it prints; a line "..."
in it stands for any lines.  Links between the pages lead to files that exist.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import harness  # noqa: E402

PROGRAM = os.environ["TRIVET"]
TOP = harness.TOP
FENCE = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.S | re.M)
SILENT = "</dev/null"
passed, failed = 0, 0


def check(name, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED: {name}: {str(detail)[:900]}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def project(base):
    """A directory as the pages assume it: a small git repository."""
    work = os.path.join(base, "project")
    os.makedirs(work)
    for name, text in {"main.c": "int main(void) { return 1; }\n", "note.txt": "a note\n",
                       "other.txt": "another\n"}.items():
        with open(os.path.join(work, name), "w", encoding="ascii") as file:
            file.write(text)
    for name in ("run", "examples"):
        os.symlink(os.path.join(TOP, name), os.path.join(work, name))
    os.symlink(os.path.dirname(PROGRAM), os.path.join(work, "build"))
    git = ["git", "-C", work, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", work], check=True)
    subprocess.run([*git, "add", "main.c", "note.txt"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    return work


def fits(wanted, got):
    pattern = re.escape(wanted.strip()).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, got.strip(), re.S)


def run_blocks(blocks):
    """[(language, text)] in one shell: [(text, what it printed, its status)], to the first failure."""
    with harness.private_place() as base:
        env = harness.clean_env(base)
        for name in [name for name in env if name.startswith("XDG_")]:
            del env[name]  # the pages name the usual places
        env["PATH"] = os.path.join(base, "bin") + ":" + env["PATH"]
        os.makedirs(os.path.join(base, "bin"))
        os.symlink(PROGRAM, os.path.join(base, "bin", "trivet"))
        work = project(base)
        script = ["set -eu", "exec " + SILENT]
        for i, (language, text) in enumerate(blocks):
            if language == "python":
                with open(os.path.join(base, f"{i}.py"), "w", encoding="utf-8") as file:
                    file.write(text)
                text = f"python3 {base}/{i}.py"
            script += [f"exec >{base}/{i}.out 2>{base}/{i}.err", text, f": >{base}/{i}.done"]
        subprocess.run(["bash", "-c", "\n".join(script)], env=env, cwd=work, check=False,
                       timeout=120 * harness.slow())
        results = []
        for i, (_, text) in enumerate(blocks):
            done = os.path.exists(f"{base}/{i}.done")
            report = [read(f"{base}/{i}.{end}") if os.path.exists(f"{base}/{i}.{end}") else ""
                    for end in ("out", "err")]
            results.append((text, done, *report))
            if not done:
                break
        return results


def try_page(path):
    """[(name, ok, detail)] of a page."""
    found = [(m[2], m[3]) for m in FENCE.finditer(read(path))]
    blocks = [block for block in found if block[0] in ("sh", "python")]
    if not blocks:
        return []
    name = os.path.relpath(path, TOP)
    output, results = [], run_blocks(blocks)
    for text, done, out, err in results:
        output.append((f"{name}: {text.splitlines()[0]}", done, f"{text}\n{out}\n{err}"))
    outputs = iter(results)
    last = None
    for language, text in found:
        if language in ("sh", "python"):
            last = next(outputs, None)
        elif language == "output" and last:
            output.append((f"{name}: output of {last[0].splitlines()[0]}", fits(text, last[2]),
                         f"printed {last[2]!r}"))
    return output


def try_examples(path):
    """The lines of its head that start the engine of the build folder."""
    lines = re.findall(r"^(?://|#)? {4}(\S.*build/trivet .*)$", read(path), re.M)
    return [(f"{os.path.relpath(path, TOP)}: {line}", done and out.strip(), out + err)
            for line in lines for _, done, out, err in run_blocks([("sh", line)])]


def check_links(path):
    for target in re.findall(r"\]\(([^)#:]+)\)", read(path)):
        check(f"{os.path.relpath(path, TOP)} links to {target}",
              os.path.exists(os.path.join(os.path.dirname(path), target)))


def check_copied(path):
    """A command that is copied with its explanation runs all the same: a # stands between."""
    for match in FENCE.finditer(read(path)):
        for line in match[3].splitlines() if match[2] == "text" else []:
            check(f"{os.path.relpath(path, TOP)}: explained by a comment: {line}",
                  not re.match(r"(?:packaging/|meson |ninja |sudo |\./)[^#]*\w {3,}[^ #]", line))


def main():
    pages = [os.path.join(TOP, "README.md"), *sorted(glob.glob(f"{TOP}/docs/*.md"))]
    examples = sorted(glob.glob(f"{TOP}/examples/*.*"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(try_page, path) for path in pages]
        jobs += [pool.submit(try_examples, path) for path in examples]
        for job in jobs:
            for one in job.result():
                check(*one)
    for path in pages:
        check_links(path)
        check_copied(path)
    index = read(f"{TOP}/docs/README.md")
    for path in pages[1:]:
        check(f"docs/README.md lists {os.path.basename(path)}",
              f"({os.path.basename(path)})" in index or path.endswith("/README.md"))
    code = [FENCE.search(read(os.path.join(TOP, page)), read(os.path.join(TOP, page)).index("```python"))[3]
            for page in ("README.md", "docs/first-client.md")]
    check("README.md and docs/first-client.md have the same client", code[0] == code[1])
    done = subprocess.run([sys.executable, f"{TOP}/scripts/client_picture.py", PROGRAM, "--check"],
                          capture_output=True, text=True, check=False)
    check("the picture of the messages is as new as the program", done.returncode == 0, done)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
