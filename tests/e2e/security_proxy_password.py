#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""User and password of a proxy do not reach commands; the address does."""
from security_place import play

PASSWORD = "word-of-the-proxy"
PROXIES = {
    "HTTPS_PROXY": f"http://ann:{PASSWORD}@proxy.example:3128/",
    "HTTP_PROXY": f"http://ann:{PASSWORD}@proxy.example:3128",
    "ALL_PROXY": f"socks5h://ann:{PASSWORD}@proxy.example:1080",
    "https_proxy": f"ann:{PASSWORD}@proxy.example:3128",
    "http_proxy": f"HTTP://{PASSWORD}@proxy.example",
    "all_proxy": f"http://ann:at@slash/{PASSWORD}@proxy.example",
    "npm_config_https_proxy": f"http://ann:{PASSWORD}@proxy.example",
    "npm_config_registry": f"https://ann:{PASSWORD}@registry.example/npm/",
    "no_proxy": "localhost,proxy.example",
}


def commands(score, p):
    p.scene(("bash", {"command": "env; cat /proc/$PPID/environ; cat /proc/[0-9]*/environ "
                                 "2>/dev/null | tr '\\0' '\\n'; true"}))
    p.run("run", "-m", "rehearsal/scene.json", "--mode", "danger-full-access", "go", **PROXIES)
    output = p.results()
    score.check(f"the password ({score.name})", PASSWORD not in output,
                [line for line in output.split("\\n") if PASSWORD in line])
    for line in ("HTTPS_PROXY=http://proxy.example:3128/", "HTTP_PROXY=http://proxy.example:3128",
                 "ALL_PROXY=socks5h://proxy.example:1080", "https_proxy=proxy.example:3128",
                 "http_proxy=HTTP://proxy.example", "all_proxy=http://proxy.example",
                 "npm_config_registry=https://registry.example/npm/",
                 "no_proxy=localhost,proxy.example"):
        score.check(f"{line} ({score.name})", f"{line}\\n" in output, output)


def passed(score, p):
    """The user may say otherwise."""
    p.scene(("bash", {"command": "env"}))
    p.run("run", "-m", "rehearsal/scene.json", "go", TRIVET_PASS_ENV="HTTPS_PROXY", **PROXIES)
    output = p.results()
    score.check(f"TRIVET_PASS_ENV ({score.name})", PROXIES["HTTPS_PROXY"] in output and
                f"\\nHTTP_PROXY={PROXIES['HTTP_PROXY']}" not in output, output)


play(commands, passed)
