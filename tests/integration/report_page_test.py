# SPDX-License-Identifier: Apache-2.0
"""The page of `report --experiment` about a store with hostile names, in a real browser: it runs nothing, loads nothing, and shows everything."""

import json
import os
import re
import unittest

import browser
from harness import main
from questions import T0, QueryCase, http

EVIL = '<img src=x onerror="document.title=1">"\'&</style></svg><script>document.title=2</script>'
KEYS = ("host", "pid", "process", "container", "local", "remote", "port", "protocol", "direction")


class Page(QueryCase):
    def setUp(self):
        super().setUp()
        lines = [{"kind": "metrics", "time": (T0 + second) * 10**9, "duration": 10 * 10**9, "tags": {"host": "h", "process": EVIL, "pid": "7"},
                  "fields": {"proc.cpu.user": 50 + second}} for second in range(10, 60, 10)]
        for local, remote, direction in (("10.0.0.1", "10.0.0.2", "out"), ("10.0.0.2", "10.0.0.1", "in")):
            tags = dict(zip(KEYS, (local, "7" + local[-1], EVIL, "", local, remote, "80", "tcp", direction), strict=True))
            lines.append({"kind": "metrics", "time": (T0 + 20) * 10**9, "duration": 10**10, "tags": {k: v for k, v in tags.items() if v},
                          "fields": {"flow.out.bytes": 1000 if direction == "out" else 0, "flow.in.bytes": 0 if direction == "out" else 1000}})
        for number in range(6):
            seconds = 40 if number == 5 else 2
            tags = {"host": f"node{number % 3}", "job": EVIL, "stage": "map", "task": f"{EVIL}{number}", "attempt": f"{EVIL}{number}"}
            lines.append({"kind": "span", "text": "task", "time": (T0 + 1) * 10**9, "duration": seconds * 10**9, "tags": tags,
                          "fields": {"span.bytes": 1 << 20, "span.outcome": 0}})
        http(self.hub + "/api/jsonlines", "".join(json.dumps(line) + "\n" for line in lines).encode())
        http(self.hub + "/cpu", json.dumps([{"timestamp": T0 + 20, "hostname": "h", "stack": f"java-7;{EVIL.replace(';', '')};b_[j]",
                                             "value": 3}]).encode())
        self.atalaya("experiment", "start", "evil", "--notes", EVIL, "--at", str(T0))
        self.atalaya("experiment", "end", "evil", "--at", str(T0 + 60))
        self.atalaya("experiment", "start", "later", "--at", str(T0 + 30))
        self.atalaya("experiment", "end", "later", "--at", str(T0 + 60))
        self.file = self.path("report.html")

    def test_each_section_shows_the_data_of_the_store(self):
        self.atalaya("report", "--experiment", "evil", "-o", self.file)
        with open(self.file) as file:
            page = file.read()
        titles = re.findall("<h2>([^<]*)</h2>", page)
        for title in ("Experiments", "Over the time", "Usage", "Stacks", "Traffic", "Jobs"):
            self.assertIn(title, titles)
        self.assertNotIn("Waiting", titles)  # the store has no such stacks
        self.assertIn("3 samples", page)
        self.assertIn("1000 B", page)

    @unittest.skipUnless(browser.BINARY, "Chromium is not installed")
    def test_names_are_texts_in_a_browser(self):
        self.atalaya("report", "--experiment", "evil", "-o", self.file)
        compared = self.path("compared.html")
        self.atalaya("report", "--compare", "evil", "later", "-o", compared)
        chromium = browser.Browser(width=1100)
        self.addCleanup(chromium.close)
        for file, title, tables in ((self.file, "evil", 2), (compared, "evil compared with later", 2)):
            chromium.open(file)
            self.assertEqual(chromium.value("document.title"), title)
            self.assertEqual(chromium.value("document.querySelectorAll('img, script, iframe, object, link').length"), 0)
            self.assertEqual(chromium.value("performance.getEntriesByType('resource').length"), 0)
            self.assertGreaterEqual(chromium.value("document.querySelectorAll('table').length"), tables)
            self.assertTrue(chromium.value(f"[...document.querySelectorAll('td')].some(cell => cell.textContent === {json.dumps(EVIL)})"))
            # The page is not wider than the window.
            self.assertLessEqual(chromium.value("document.documentElement.scrollWidth"), 1100)
        self.assertEqual(chromium.errors, [])

    @unittest.skipUnless(browser.BINARY, "Chromium is not installed")
    def test_page_and_pictures_follow_the_preference_of_dark(self):
        self.atalaya("report", "--experiment", "evil", "-o", self.file)
        chromium = browser.Browser(width=1100)
        self.addCleanup(chromium.close)
        light = {}
        for scheme in ("light", "dark"):
            chromium.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            chromium.open(self.file)
            brightness = lambda selector, property: chromium.value(
                f"[...document.querySelectorAll({json.dumps(selector)})].map(one => getComputedStyle(one).{property}.match(/\\d+/g)"
                ".slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3)")
            papers = brightness(".chart > .paper, .flamegraph > rect", "fill")
            texts = brightness(".chart > text:not(.own), .flamegraph > text, body", "color")
            self.assertGreaterEqual(len(papers), 3)
            for value in papers:
                self.assertEqual(value > 128, scheme == "light", papers)
            for value in brightness(".chart > text:not(.own), .flamegraph > text:not([display])", "fill"):
                self.assertEqual(value < 128, scheme == "light", texts)
            light[scheme] = chromium.value("getComputedStyle(document.body).color")
            if folder := os.environ.get("ATALAYA_PICTURES"):
                chromium.picture(os.path.join(folder, f"report-{scheme}.png"))
        self.assertNotEqual(light["light"], light["dark"])


if __name__ == "__main__":
    main()
