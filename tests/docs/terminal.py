# SPDX-License-Identifier: Apache-2.0
"""The first screen of a program on a terminal, and its picture as SVG."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from xml.sax.saxutils import escape

COLUMNS = 80
CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78]|[\x0e\x0f]")
CHARACTER, LINE, MARGIN = 8.0, 18, 12  # pixels
STYLE = ("<style>@media (prefers-color-scheme:dark){.terminal .paper{fill:#16181c}.terminal text{fill:#d6d9de}"
         ".terminal .bar{fill:#d6d9de}.terminal .reverse{fill:#16181c}}</style>")


class Screen:
    """Cells of a terminal with the control sequences that curses writes for a vt100."""

    def __init__(self, rows):
        self.cells = [[(" ", False)] * COLUMNS for _ in range(rows)]
        self.row = self.column = 0
        self.reverse = False

    def write(self, text):
        at = 0
        for found in CONTROL.finditer(text):
            self.put(text[at:found.start()])
            if found[2]:
                self.control(found[1], found[2])
            at = found.end()
        self.put(text[at:])

    def put(self, text):
        for character in text:
            if character == "\r":
                self.column = 0
            elif character == "\n":
                self.row += 1
            else:
                self.cells[self.row][min(self.column, COLUMNS - 1)] = (character, self.reverse)
                self.column += 1

    def control(self, arguments, kind):
        numbers = [int(one or 0) for one in arguments.lstrip("?").split(";")]
        if kind == "H":
            self.row, self.column = ([max(one, 1) - 1 for one in numbers] + [0])[:2]
        elif kind in "ABCD":
            self.row += {"A": -1, "B": 1}.get(kind, 0) * max(numbers[0], 1)
            self.column += {"C": 1, "D": -1}.get(kind, 0) * max(numbers[0], 1)
        elif kind == "m":
            self.reverse = 7 in numbers
        elif kind not in "JKhlr":  # nothing is erased on the first screen
            raise ValueError(f"control sequence {arguments}{kind} is not known")

    def lines(self):
        """The text of each row, and whether it is a bar of reversed colours."""
        return [("".join(character for character, _ in row).rstrip(), any(reverse for _, reverse in row)) for row in self.cells]


def first_screen(words, environment, rows, until, patience):
    """The screen of the program when it has written the text `until`. The program is ended then."""
    pid, end = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))
        os.execvpe(words[0], words, dict(environment, TERM="vt100", LC_ALL="C.UTF-8"))
    text, limit = "", time.monotonic() + patience
    try:
        while until not in text:
            if not select.select([end], [], [], max(limit - time.monotonic(), 0))[0]:
                raise AssertionError(f"no {until!r} in {text!r}")
            text += os.read(end, 65536).decode()
        os.write(end, b"q")
        os.waitpid(pid, 0)
    finally:
        os.close(end)
    screen = Screen(rows)
    screen.write(text)
    return screen.lines()


def svg(lines):
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" class="terminal" width="{width:g}" height="{height}" viewBox="0 0 {width:g} {height}" '
           'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">', '<rect class="paper" width="100%" height="100%" fill="white"/>', STYLE]
    for number, (line, bar) in enumerate(lines):
        top = MARGIN + number * LINE
        if bar:
            out.append(f'<rect class="bar" x="{MARGIN}" y="{top}" width="{COLUMNS * CHARACTER:g}" height="{LINE}" fill="#333"/>')
        for word in re.finditer(r"\S+(?: \S+)*", line):  # placed by column, for fonts of every width
            length = f' textLength="{len(word[0]) * CHARACTER:g}" lengthAdjust="spacingAndGlyphs"' if len(word[0]) > 1 else ""
            out.append(f'<text{" class=" + chr(34) + "reverse" + chr(34) + " fill=" + chr(34) + "white" + chr(34) if bar else ""} '
                       f'x="{MARGIN + word.start() * CHARACTER:g}" y="{top + 13}"{length}>{escape(word[0])}</text>')
    return "\n".join(out) + "\n</svg>\n"
