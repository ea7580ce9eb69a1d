# SPDX-License-Identifier: Apache-2.0
"""Speedscope itself, in a real browser, reads the files for it: its table of functions has the shares of the store."""

import base64
import json
import os
import re
import time
import unittest

import browser
import peers
from harness import PATIENCE, main
from questions import T0, WHEN, QueryCase, http

STACKS = {"main;wait": 1, "main;sort": 6, "main;sort;compare": 12, "idle": 1}
OTHERS = {"main;sort": 3, "main": 1}
# By function: share of the samples of java-7 with it at the top, and with it anywhere, in per cent.
SELF = {"wait": 5, "sort": 30, "compare": 60, "idle": 5}
TOTAL = {"main": 95, "wait": 5, "sort": 90, "compare": 60, "idle": 5}


@unittest.skipUnless(browser.BINARY, "no browser: chromium")
@unittest.skipUnless(peers.NODE, "needs node and npm")
class Speedscope(QueryCase):
    def setUp(self):
        super().setUp()
        lines = [{"kind": "stack", "time": (T0 + 10 * window) * 10**9, "duration": 10**10, "text": text,
                  "tags": {"host": "h0", "process": name, "pid": pid, "profile": "cpu"}, "fields": {"profile.samples": count}}
                 for window in (1, 2, 3) for name, pid, stacks in (("java", "7", STACKS), ("shop", "8", OTHERS))
                 for text, count in stacks.items()]
        http(self.hub + "/api/jsonlines", "".join(json.dumps(line) + "\n" for line in lines).encode())
        self.page = browser.Browser()
        self.addCleanup(self.page.close)

    def load(self, name):
        with open(self.path(name), "rb") as file:
            content = base64.b64encode(file.read()).decode()
        # As speedscope's own command does it.
        with open(self.path("load.js"), "w") as file:
            file.write(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(content)})")
        page = os.path.realpath(os.path.join(peers.modules(), "speedscope/dist/release/index.html"))
        self.page.call("Page.navigate", url=f"file://{page}#localProfilePath={self.path('load.js')}")
        self.until("document.body?.innerText?.includes('Sandwich')")
        self.page.value("[...document.querySelectorAll('div')].filter(one => one.innerText.trim().endsWith('Sandwich') && "
                        "!one.querySelector('div')).forEach(one => one.click()); null")
        self.until("document.querySelectorAll('tr td').length >= 15")  # five functions

    def until(self, expression):
        end = time.monotonic() + PATIENCE
        while not self.page.value(expression):
            self.assertLess(time.monotonic(), end, self.page.value("document.body.innerText")[:1000])
            time.sleep(0.05)

    def shares(self):
        """{function: (total, self) in per cent} of the table."""
        rows = self.page.value("[...document.querySelectorAll('tr')].map(one => [...one.querySelectorAll('td')].map(cell => "
                               "cell.innerText.trim()))")
        return {row[2]: [float(re.search(r"\(<?([\d.]+)%\)", cell).group(1)) for cell in row[:2]] for row in rows if len(row) == 3}

    def check(self):
        found = self.shares()
        for name, share in TOTAL.items():
            total, own = found[name]
            self.assertAlmostEqual(total, share, delta=0.1, msg=name)
            self.assertAlmostEqual(own, SELF.get(name, 0), delta=0.1, msg=name)

    def test_the_format_speedscope(self):
        self.atalaya("flamegraph", *WHEN, "--process", "java", "--format", "speedscope", "-o", self.path("x.json"))
        self.load("x.json")
        self.check()

    def test_stacks_over_time(self):
        self.atalaya("trace", *WHEN, "--tag", "process=java", "--top", "0", "-o", self.path("trace.json"))
        self.load("trace.json")
        self.check()

    def test_folded_stacks(self):
        text = self.atalaya("flamegraph", *WHEN, "--process", "java", "--by", "name", "--format", "folded")
        with open(self.path("x.txt"), "w") as file:
            file.write(re.sub("^java;", "", text, flags=re.MULTILINE))
        self.load("x.txt")
        self.check()


if __name__ == "__main__":
    main()
