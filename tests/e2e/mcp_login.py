#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`trivet mcp login`: OAuth with PKCE, registration of a client, tokens that are renewed.

covers: mcp 54, 63, 64, 65, 66, 68
"""
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
import harness  # noqa: E402
from mcp_scene import PROGRAM, Checks, Place  # noqa: E402
from mcp_http import Web  # noqa: E402

check = Checks()
ECHO = ("mcp__web__echo", {"text": "a"})


def login(place, *more):
    child = subprocess.Popen([PROGRAM, "mcp", "login", "web", *more], cwd=place.work, env=place.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    said = ""
    for line in child.stderr:
        said += line
        if "code_challenge" in line:
            try:
                urllib.request.urlopen(re.search(r"http\S+", line)[0], timeout=20).read()
            except urllib.error.HTTPError as error:
                said += error.read().decode()
    return child.wait(30 * harness.slow()), said + child.stdout.read()


def whole(base):
    place = Place(base, "whole")
    with Web("closed") as web:
        place.configure(web={"url": web.url})
        run = place.run([ECHO])
        check("without a sign-in the turn ends well", run.calls[0]["is_error"] and run.code == 0, run)
        code, said = login(place)
        check("the sign-in works", code == 0 and "signed in at web" in said, said)
        check("PKCE, resource, scope, registered redirect", web.asked["code_challenge_method"] == "S256"
              and web.asked["resource"] == web.url and web.asked["scope"] == "read write"
              and web.asked["redirect_uri"] in web.redirects
              and web.asked["client_id"] == "client-1", web.asked)
        check("it registers as a program of this machine",
              web.registered[0][1].get("application_type") == "native", web.registered)
        check("the port of the redirect is open when it is registered", web.is_port_held)
        check("afterwards the tools work", place.run([ECHO]).text() == "echo: {'text': 'a'}")
        for name in (os.path.join(place.env["XDG_CONFIG_HOME"], "trivet", "auth.json"),
                     os.path.join(place.env["XDG_STATE_HOME"], "trivet", "mcp-clients.json")):
            check(f"only the owner reads {os.path.basename(name)}",
                  os.stat(name).st_mode & 0o777 == 0o600)
        web.tokens = set()
        run = place.run([ECHO])
        check("a refused token is renewed", run.text() == "echo: {'text': 'a'}" and web.n_tokens == 2, run)
        web.lasts = 5
        web.tokens = set()
        place.run([ECHO])
        run = place.run([ECHO])
        check("one that ends soon is renewed before", web.n_tokens >= 4 and run.code == 0
              and not run.calls[0]["is_error"], (web.n_tokens, run))
        place.configure(web={"url": web.base + "/other"})
        web.seen.clear()
        place.run([ECHO])
        check("another address gets no token", web.seen and not any(
            "authorization" in h for _, h, _ in web.seen), web.seen[:2])
        place.configure(web={"url": web.url})
        done = place.cli("mcp", "logout", "web")
        check("logout", done.returncode == 0 and place.run([ECHO]).calls[0]["is_error"], done)


def refused(base):
    for words, part in (("no-pkce", "PKCE"), ("other-resource", "other.example"),
                        ("plain-token", "not encrypted"), ("foreign-issuer", "other.example"),
                        ("foreign-iss", "another issuer"), ("unexpected-iss", "another issuer"),
                        ("slash-iss", "another issuer"), ("no-iss", "no issuer"),
                        ("foreign-iss denied", "another issuer")):
        place = Place(base, words.replace(" ", "-"))
        with Web("closed", *words.split()) as web:
            place.configure(web={"url": web.url})
            code, said = login(place)
            check(f"refused: {words}", code == 1 and part in said and not web.n_tokens
                  and "Words" not in said, said)
    place = Place(base, "iss")
    with Web("closed", "iss") as web:
        place.configure(web={"url": web.url})
        code, said = login(place)
        check("an answer that names the issuer is taken", code == 0 and web.n_tokens == 1, said)
    place = Place(base, "none")
    with Web() as web:
        place.configure(web={"url": web.url}, local=place.fake(), far={"url": "http://192.0.2.1/"})
        code, said = login(place)
        check("a server without sign-in", code == 1 and "no sign-in" in said, said)
        for name in ("local", "far", "unknown"):
            done = place.cli("mcp", "login", name)
            check(f"no sign-in at {name}", done.returncode == 1 and done.stderr, done)


def greeted(base):
    place = Place(base, "greeted")
    with Web("closed", "greets") as web:
        place.configure(web={"url": web.url})
        code, said = login(place)
        check("the scope that a list of tools is refused for", code == 0
              and web.asked["scope"] == "narrow", (said, web.asked))


def rights(base):
    place = Place(base, "rights")
    with Web("closed", "greets", "rights") as web:
        place.configure(web={"url": web.url})
        login(place)
        run = place.run([ECHO])
        check("a call that wants further rights says so, and is not repeated", run.calls[0]["is_error"]
              and "further rights (write more)" in run.text() and web.n_tokens == 1
              and web.methods().count("tools/call") == 1, run)
        code, said = login(place)
        check("the next sign-in asks for them beside the others", code == 0
              and web.asked["scope"] == "narrow write more", (said, web.asked))
        check("then it works", place.run([ECHO]).text() == "echo: {'text': 'a'}")
        login(place)
        check("they stay", web.asked["scope"] == "narrow write more", web.asked)
        place.cli("mcp", "logout", "web")
        login(place)
        check("until the end of the sign-in", web.asked["scope"] == "narrow", web.asked)
        web.closed = ("server/discover", "initialize")
        place.run([ECHO])
        login(place)
        check("also where a connection is refused", web.asked["scope"] == "narrow write more", web.asked)


def moved(base):
    """Another authorization server: a client of the old one is not shown to it."""
    place = Place(base, "moved")
    with Web("closed") as web:
        place.configure(web={"url": web.url})
        login(place)
        web.issuer = "/elsewhere"
        code, said = login(place)
        check("a new authorization server gets a registration of its own", code == 0
              and [issuer for issuer, _ in web.registered] == ["/as", "/elsewhere"], (said, web.registered))
        mine = {"url": web.url, "oauth": {"clientId": "mine"}}
        place.configure(web=mine)
        code, said = login(place)
        check("a client id of the settings is used", code == 0 and web.asked["client_id"] == "mine", said)
        web.issuer, web.asked = "/third", {}
        code, said = login(place)
        check("it is not shown to another authorization server", code == 1 and not web.asked
              and "/third" in said and "/elsewhere" in said, said)
        place.configure(web={"url": web.url, "oauth": {"clientId": "other"}})
        code, said = login(place)
        check("another id is", code == 0 and web.asked["client_id"] == "other", said)
        place.configure(web=mine)
        web.issuer = "/as"
        place.cli("mcp", "logout", "web")
        code, said = login(place)
        check("after a logout it may be", code == 0 and web.asked["client_id"] == "mine", said)


with harness.private_place() as scratch:
    whole(scratch)
    refused(scratch)
    greeted(scratch)
    rights(scratch)
    moved(scratch)
check.end()
