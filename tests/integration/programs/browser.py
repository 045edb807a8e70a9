# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium through ChromeDriver (W3C WebDriver), no more than needed."""
import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--window-size=1200,900",
         # not by a socket of "localhost": a bare machine may not know the name
         "--remote-debugging-pipe"]


def there():
    """Is there a browser to be driven?"""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window. Use as a context manager."""

    def __init__(self, *flags):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.flags = [*FLAGS, *flags]
        self.session = ""

    def _call(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"chromedriver: {error.read()[:500]}") \
                from None

    def __enter__(self):
        try:
            self._wait_for_driver()
            made = self._call("POST", "/session", {"capabilities": {
                "alwaysMatch": {"goog:chromeOptions": {
                    "binary": shutil.which("chromium"),
                    "args": self.flags},
                "goog:loggingPrefs": {"browser": "ALL",
                                      "performance": "ALL"}}}})
        except Exception:
            self.__exit__()  # which is not called for us then
            raise
        self.session = f"/session/{made['sessionId']}"
        return self

    def _wait_for_driver(self):
        while True:
            try:
                self._call("GET", "/status")
                return
            except (urllib.error.URLError, ConnectionError):
                if self.driver.poll() is not None:
                    raise
                time.sleep(0.1)

    def __exit__(self, *_):
        try:
            if self.session:
                self._call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()

    def open(self, url):
        self._call("POST", self.session + "/url", {"url": url})

    def run(self, script):
        """What the JavaScript returns."""
        return self._call("POST", self.session + "/execute/sync",
                          {"script": script, "args": []})

    def devtools(self, command, **parameters):
        """A command of the Chrome DevTools Protocol."""
        return self._call("POST", self.session + "/goog/cdp/execute",
                          {"cmd": command, "params": parameters})

    def log(self, kind):
        """Since the last look: "browser", messages of the console, or
        "performance", events of the DevTools Protocol as JSON."""
        return [entry["message"] for entry in
                self._call("POST", self.session + "/se/log", {"type": kind})]

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(
            self._call("GET", self.session + "/screenshot")))
