# SPDX-License-Identifier: Apache-2.0
"""The banned phrases of docs/style.md, and the prose of the repository's files."""

import glob
import re

STYLE = "docs/style.md"
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
GENERATED = re.compile(r"^<!-- generated: .*?^<!-- end -->", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK_TARGET = re.compile(r"\]\([^)\s]*\)")
LUA_COMMENT = re.compile(r"""^(?:[^"'\-]|"[^"]*"|'[^']*'|-(?!-))*--(.*)$""")


def markdown_pages():
    """README, the other pages at the top, docs and the plugins' READMEs; the style guide itself shows what it bans."""
    pages = glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True)
    pages += glob.glob("plugins/*/*/README.md") + glob.glob("examples/*/README.md")
    return sorted(set(pages) - {STYLE})


def lua_files():
    return sorted(glob.glob("pipelines/*.lua") + glob.glob("lua/atalaya/*.lua") + ["packaging/atalaya.lua"])


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blanked(match):
    """Spaces of the same length, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match.group(0))


def markdown_prose(text):
    """The text without code blocks, comments, code in lines and the targets of links."""
    text = COMMENT.sub(blanked, FENCE.sub(blanked, text))
    return LINK_TARGET.sub(lambda m: "]" + " " * (len(m.group(0)) - 1), CODE_SPAN.sub("`", text))


def lua_prose(text):
    """The comments of a Lua file, a line each."""
    found = (LUA_COMMENT.match(line) for line in text.split("\n"))
    return "\n".join(match.group(1).strip() if match else "" for match in found)


def prose(path):
    return lua_prose(read(path)) if path.endswith(".lua") else markdown_prose(read(path))


def listed(block):
    found = re.search(rf"^```{block}\n(.*?)^```$", read(STYLE), re.M | re.S)
    return [line for line in found.group(1).splitlines() if line]


def words(phrase):
    return r"\s+".join(re.escape(word) for word in phrase.split())


class Phrases:
    """Finds the banned phrases in a text."""

    def __init__(self):
        anywhere = "|".join(words(phrase) for phrase in listed("banned"))
        openings = "|".join(words(phrase) for phrase in listed("banned-openings"))
        self.anywhere = re.compile(rf"(?<!\w)(?:{anywhere})(?!\w)", re.I)
        # An opening: at the start of a paragraph, heading, item or cell, or behind the end of a sentence.
        self.openings = re.compile(rf"(?:\A|\n[ \t]*\n|^#+|^[ \t]*(?:[-*]|\d+\.)[ \t]|\||[.:!?](?=\s))[\s*#]*"
                                   rf"((?:{openings})\b)(?:[^.!?|\n]|\n(?!\n)|\.(?=\w))*(.?)", re.M)

    def find(self, text):
        """(line, phrase) of each."""
        found = [(match.start(), match.group(0)) for match in self.anywhere.finditer(text)]
        found += [(match.start(1), match.group(1)) for match in self.openings.finditer(text) if match.group(2) != "?"]
        return [(text.count("\n", 0, at) + 1, " ".join(phrase.split())) for at, phrase in sorted(found)]


def too_wide(text, columns=120):
    """(line, columns) of each line of Markdown prose that is wider; tables, code and generated text are not prose."""
    text = COMMENT.sub(blanked, FENCE.sub(blanked, GENERATED.sub(blanked, text)))
    return [(number, len(line)) for number, line in enumerate(text.split("\n"), 1)
            if len(line.rstrip()) > columns and not line.lstrip().startswith("|")]
