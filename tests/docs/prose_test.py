# SPDX-License-Identifier: Apache-2.0
"""Plain English, as docs/style.md asks for it, in files; docs_test.py looks at the help of the commands. Needs no agent.

prose_test.py --count prints the findings of each file instead."""

import glob
import os
import re
import subprocess
import sys
import unittest

import style

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)


def anchors(path):
    """The fragments of a page's headings, as GitHub makes them."""
    titles = HEADING.findall(style.FENCE.sub("", style.read(path)))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


class Prose(unittest.TestCase):
    maxDiff = None

    def test_no_banned_phrase(self):
        phrases = style.Phrases()
        for path in style.markdown_pages() + style.lua_files():
            with self.subTest(path):
                self.assertEqual(phrases.find(style.prose(path)), [])

    def test_prose_has_at_most_120_columns(self):
        for path in style.markdown_pages() + [style.STYLE]:
            with self.subTest(path):
                self.assertEqual(style.too_wide(style.read(path)), [])

    def test_links_lead_somewhere(self):
        for path in style.markdown_pages() + [style.STYLE]:
            for link, anchor in LINK.findall(style.FENCE.sub("", style.read(path))):
                if "://" in link:
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(path), link)) if link else path
                with self.subTest(f"{path}: {link}#{anchor}" if anchor else f"{path}: {link}"):
                    self.assertTrue(os.path.exists(target))
                    if anchor and target.endswith(".md"):
                        self.assertIn(anchor, anchors(target))

    def test_decisions_are_in_the_index_and_short(self):
        pages = {os.path.basename(path) for path in glob.glob("docs/decisions/*.md")} - {"README.md"}
        self.assertEqual({link for link, _ in LINK.findall(style.read("docs/decisions/README.md"))}, pages)
        for page in pages:
            with self.subTest(page):
                self.assertLessEqual(len(style.read(f"docs/decisions/{page}").split()), 900)

    def test_help_of_dev(self):
        text = subprocess.run(["./dev", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertEqual(style.Phrases().find(text), [])

    def test_the_phrases_are_found(self):
        phrases = style.Phrases()
        self.assertEqual(phrases.find("All of it IS\ntold. Retold."), [(1, "IS told")])
        self.assertEqual(phrases.find("## What is there\n\nFine."), [(1, "What is")])
        self.assertEqual(phrases.find("It ends. What is\nlost is counted."), [(1, "What is")])
        self.assertEqual(phrases.find("What is a pipeline? It is known what is lost."), [])
        self.assertEqual(style.lua_prose('x = "--is told" -- all of them\n-- more'), "all of them\nmore")
        self.assertEqual(style.markdown_prose("a `is told` b\n```sh\nis told\n```\n").split(), ["a", "`", "b"])
        self.assertEqual(style.too_wide("x" * 121 + "\n|" + "x" * 121 + "\n```\n" + "x" * 121 + "\n```\n"), [(1, 121)])


def count():
    phrases = style.Phrases()
    for path in style.markdown_pages() + style.lua_files():
        found = phrases.find(style.prose(path))
        wide = [] if path.endswith(".lua") else style.too_wide(style.read(path))
        if found or wide:
            print(f"{path}: {len(found)} phrases, {len(wide)} wide lines")
            if "-v" in sys.argv:
                print(*(f"  {line}: {text}" for line, text in found), sep="\n")


if __name__ == "__main__":
    count() if "--count" in sys.argv else unittest.main()
