# SPDX-License-Identifier: MIT
"""Chromium without a window, spoken to over a pair of pipes (its DevTools protocol)."""
import base64
import json
import os
import select
import shutil
import subprocess
import time

import harness


def find():
    """The program, or None where the Debian package `chromium` is not installed."""
    return shutil.which("chromium")


class Browser:
    def __init__(self, base):
        self.base = base

    def __enter__(self):
        there, self.to = os.pipe()
        self.back, out = os.pipe()
        profile = os.path.join(self.base, "chromium")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{there} 4>&{out}', "sh", find(), *flags],
            pass_fds=(there, out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=dict(os.environ, HOME=self.base))
        os.close(there)
        os.close(out)
        self.n, self.rest, self.events = 0, b"", []
        target = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"][0]
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.page(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)

    def message(self, seconds=30):
        end = time.monotonic() + seconds * harness.slow()
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError("Chromium has ended")
            self.rest += data
        one, _, self.rest = self.rest.partition(b"\0")
        return json.loads(one)

    def call(self, method, session=None, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.n:
                if "error" in got:
                    raise RuntimeError(got["error"])
                return got["result"]
            self.events.append(got)

    def page(self, method, **params):
        return self.call(method, self.session, **params)

    def open(self, url):
        self.page("Page.navigate", url=url)
        end = time.monotonic() + 20 * harness.slow()
        while self.value("location.href + ' ' + document.readyState") != f"{url} complete":
            if time.monotonic() > end:
                raise TimeoutError(f"{url} was not loaded")
            time.sleep(0.02)

    def value(self, expression):
        got = self.page("Runtime.evaluate", expression=expression, returnByValue=True)
        return got["result"].get("value")

    def click(self, selector):
        """With the mouse, in the middle of the first element that fits."""
        box = self.value(f"(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();"
                         f" return [r.x + r.width / 2, r.y + r.height / 2]; }})"
                         f"(document.querySelector({json.dumps(selector)}))")
        for kind in ("mousePressed", "mouseReleased"):
            self.page("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def resize(self, width, height=900, dark=False):
        self.page("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        self.page("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path, whole=True):
        data = self.page("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def requests(self):
        """Addresses that were asked for since the start."""
        self.value("1")
        return [one["params"]["request"]["url"] for one in self.events
                if one.get("method") == "Network.requestWillBeSent"]
