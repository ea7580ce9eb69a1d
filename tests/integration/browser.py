# SPDX-License-Identifier: Apache-2.0
"""A real browser without a screen, driven over a pipe by Chromium's own protocol: actions of users on a page, and its visible state."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 60
BINARY = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. Ends with `close`."""

    def __init__(self, width=1280, height=800):
        self.folder = tempfile.mkdtemp(prefix="atalaya-browser-")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        wiring = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        self.process = subprocess.Popen(
            ["sh", "-c", wiring, BINARY, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={self.folder}", "--remote-debugging-pipe"],
            pass_fds=(commands, answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.buffer, self.number, self.session = b"", 0, None
        self.errors = []  # of scripts
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        answer = self.read_until(lambda message: message.get("id") == self.number)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def read_until(self, wanted):
        end = time.monotonic() + PATIENCE
        while True:
            while b"\0" in self.buffer:
                text, self.buffer = self.buffer.split(b"\0", 1)
                message = json.loads(text)
                if message.get("method") == "Runtime.exceptionThrown":
                    self.errors.append(message["params"]["exceptionDetails"])
                if wanted(message):
                    return message
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            chunk = os.read(self.answers, 1 << 20)
            if not chunk:
                raise AssertionError(f"the browser ended with status {self.process.wait()}")
            self.buffer += chunk

    def open(self, path):
        """A file, as by a double click."""
        self.call("Page.navigate", url="file://" + path)
        end = time.monotonic() + PATIENCE
        while self.value("document.readyState + location.pathname") != "complete" + path:
            if time.monotonic() > end:
                raise AssertionError("the browser does not load " + path)
            time.sleep(0.02)  # its event may have come before the answer, or be that of the page before

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)

    def click(self, x, y):
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        """With all its processes, which kill would leave to themselves."""
        self.session = None
        self.call("Browser.close")
        os.close(self.commands)
        os.close(self.answers)
        self.process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)
