#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""man_pages.py PROGRAM SOURCE OUT: writes the manual pages into the directory OUT.

Commands, options and variables come from `PROGRAM describe commands --json`, the texts behind the
options from `PROGRAM exec --help`, the pages of section 5 from docs/*.md of SOURCE.
"""
import json
import os
import re
import subprocess
import sys

PAGES_OF_DOCS = {  # page: (document, one line about it)
    "trivet-session": ("sessions.md", "session files of trivet"),
    "trivet-config": ("configuration.md", "the settings file of trivet"),
}


def roff(text):
    """Plain text as roff: no character of it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    text = text.replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def inline(text):
    """Markdown within a line: `code` and **bold** become bold, *words* italic, [text](address) the
    text."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*|\*[^* ][^*]*\*)", text)
    out = []
    for part in parts:
        if len(part) > 2 and part[0] == "`":
            code = roff(part[1:-1]).replace("\\&", "").replace("/", "/\\:")  # a line may break here
            out.append("\\fB" + code + "\\fR")
        elif part.startswith("**"):
            out.append("\\fB" + roff(part[2:-2]).replace("\\&", "") + "\\fR")
        elif len(part) > 2 and part[0] == part[-1] == "*":
            out.append("\\fI" + roff(part[1:-1]).replace("\\&", "") + "\\fR")
        else:
            out.append(roff(part).replace("\\&", ""))
    return re.sub(r"^([.'])", r"\\&\1", "".join(out))


def example(lines):
    return [".PP", ".RS 4", ".nf"] + [roff(line) or "\\&" for line in lines] + [".fi", ".RE"]


def cells(line):
    return [cell.strip().replace("\\|", "|") for cell in
            re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def table(lines):
    """A table becomes a list: the first column is the term, the last its meaning; the columns
    between follow with their heads."""
    out, heads = [], cells(lines[0])
    for line in lines[2:]:
        first, *between, last = cells(line)
        out += [".TP", inline(first) or "\\&", inline(last)]
        notes = [f"{head} {cell}" for head, cell in zip(heads[1:], between) if cell]
        if notes:
            out += [".br", inline(f"({'; '.join(notes)})")]
    return out


def from_markdown(text):
    """The subset of Markdown that docs/*.md use, below the first heading."""
    out, lines = [], text.split("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("# ") or not line.strip() or line.startswith(("<!--", "![")):
            continue
        if line.startswith("##"):
            title = roff(line.lstrip("# ").replace("`", ""))
            out += [f'.SH "{title.upper()}"' if line.startswith("## ") else f'.SS "{title}"']
        elif line.startswith("```"):
            block = []
            while lines and not lines[0].startswith("```"):
                block.append(lines.pop(0))
            lines = lines[1:]
            out += example(block)
        elif line.startswith("    "):
            block = [line[4:]]
            while lines and (lines[0].startswith("    ") or
                             not lines[0].strip() and lines[1:2] and lines[1].startswith("    ")):
                block.append(lines.pop(0)[4:])
            out += example(block)
        elif line.startswith("|"):
            block = [line]
            while lines and lines[0].startswith("|"):
                block.append(lines.pop(0))
            out += table(block)
        else:
            item = re.match(r"(- |\d+\. )(.*)", line)
            block = [item[2] if item else line]
            while lines and lines[0].strip() and not re.match(r"- |\d+\. |\||#|```", lines[0]):
                block.append(lines.pop(0).strip())
            mark = "\\(bu" if line.startswith("-") else item and item[1].strip()
            out += [f'.IP "{mark}" 4' if item else ".PP", inline(" ".join(block))]
    return out


def options(rows):
    out = []
    for row in rows:
        names = [f"\\-{row['letter']}"] if row["letter"] else []
        names.append(roff("--" + row["name"]))
        value = f" \\fI{roff(row['value'])}\\fR" if row["value"] else ""
        out += [".TP", ", ".join(f"\\fB{name}\\fR" for name in names) + value,
                roff(" ".join(row["about"].split()))]
    return out


def variables(rows):
    out = []
    for row in rows:
        out += [".TP", f"\\fB{roff(row['name'])}\\fR", roff(" ".join(row["about"].split()))]
    return out


def head(name, section, about, version):
    return [f'.TH {roff(name).upper()} {section} "" "trivet {version}" "trivet"', ".ad l", ".nh", ".SH NAME",
            f"{roff(name)} \\- {roff(about)}"]


def synopsis(name, args):
    return f"\\fBtrivet {roff(name)}\\fR" + (f" {roff(args)}" if args else "")


def page_trivet(output, version):
    out = head("trivet", 1, "the engine of a coding assistant, and a chat with it", version)
    out += [".SH SYNOPSIS", ".B trivet", "[OPTIONS] [COMMAND] [ARGUMENTS]", ".SH DESCRIPTION",
            "trivet reads a prompt, asks a language model, runs the tools that the model calls, and "
            "reports every step.  On a terminal it is a chat; in a script",
            ".BR trivet\\-exec (1)", "answers one prompt; user interfaces start it with the name of "
            "the protocol that they use and talk to it on stdin and stdout.", ".SH COMMANDS"]
    group = None
    for row in output["commands"]:
        if row["group"] != group:
            group = row["group"]
            out += [f'.SS "{roff(group)}"']
        out += [".TP", synopsis(row["name"], row["args"]), roff(row["about"])]
        if row["other"]:
            out += [f"(also: trivet {roff(row['other'])})"]
        for verb in row["verbs"]:
            out += [".RS", ".TP", f"\\fB{roff(verb['name'])}\\fR {roff(verb['args'])}".strip(),
                    roff(" ".join(verb["about"].split())), ".RE"]
    out += [".PP", ".B trivet", "\\fICOMMAND\\fR", ".B \\-\\-help", "lists the options of a command.",
            ".SH OPTIONS", "These stand before the command.  Those of the sandbox may also stand "
            "behind exec and chat, and each is also a variable: TRIVET_SANDBOX_NET for "
            "\\-\\-sandbox\\-net."]
    out += options(output["options"]) + [".SH ENVIRONMENT"] + variables(output["environment"])
    out += [".SH FILES"]
    for path, about in (("~/.config/trivet/", "settings, permission rules, keys"),
                        ("~/.local/state/trivet/", "sessions, earlier prompts")):
        out += [".TP", f"\\fI{roff(path)}\\fR", about]
    return out + [".SH \"SEE ALSO\"", ".BR trivet\\-exec (1),", ".BR trivet\\-session (5),",
                  ".BR trivet\\-config (5)"]


def section_of(text, first):
    """The paragraph of a help text that begins with `first`."""
    start = text.index("\n" + first)
    return text[start + 1:].split("\n\n")[0].split("\n")


def page_exec(output, version, help_text):
    row = next(row for row in output["commands"] if row["name"] == "exec")
    out = head("trivet-exec", 1, row["about"], version)
    intro = " ".join(help_text.split("\n\n")[1].split())
    status = " ".join(section_of(help_text, "Exit status: ")).partition(": ")[2].strip(" .")
    out += [".SH SYNOPSIS", synopsis("exec", row["args"]), ".SH DESCRIPTION", roff(intro),
            ".SH OPTIONS"] + options(row["options"])
    out += [".SH RULES"] + example(
        line.removeprefix("Rules: ").removeprefix("       ")
        for line in section_of(help_text, "Rules: "))[1:] + [".SH \"EXIT STATUS\""]
    for one in re.split(r", (?=\d)", status):
        number, _, meaning = one.partition(" ")
        out += [".TP", f"\\fB{number}\\fR", roff(meaning)]
    out += [".SH EXAMPLES"] + example(["git diff | trivet exec 'review this change'",
                                       "trivet exec --json -q 'name the author' | jq -r .answer"])[1:]
    return out + [".SH \"SEE ALSO\"", ".BR trivet (1),", ".BR trivet\\-session (5)"]


def page_of_doc(name, source, version):
    document, about = PAGES_OF_DOCS[name]
    with open(os.path.join(source, "docs", document), encoding="utf-8") as file:
        text = file.read()
    intro, _, rest = text.partition("\n## ")
    return (head(name, 5, about, version) + [".SH DESCRIPTION"] + from_markdown(intro)
            + from_markdown("## " + rest if rest else "")
            + [".SH \"SEE ALSO\"", ".BR trivet (1),", ".BR trivet\\-exec (1)"])


def main():
    program, source, out = sys.argv[1:4]

    def ask(*args):
        return subprocess.run([program, *args], check=True, capture_output=True, text=True).stdout

    output = json.loads(ask("describe", "commands", "--json"))
    version = ask("--version").split()[-1]
    pages = {"trivet.1": page_trivet(output, version),
             "trivet-exec.1": page_exec(output, version, ask("exec", "--help"))}
    for name, (document, _) in PAGES_OF_DOCS.items():
        if os.path.exists(os.path.join(source, "docs", document)):
            pages[name + ".5"] = page_of_doc(name, source, version)
    os.makedirs(out, exist_ok=True)
    for name, lines in pages.items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            file.write("\n".join(['.\\" Made by scripts/man_pages.py.'] + lines) + "\n")


main()
