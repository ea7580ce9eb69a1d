#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/architecture.svg and docs/shared.svg from the #include lines of the tree: a box per folder, an arrow from a folder to
each folder that it includes. Arrows that follow from others are left out, and so are those of plugins: dots in the colours of the
five kinds show them. The first picture shows plugins/shared as its rooms, the second shows the libraries in each room.

architecture.py [-o FOLDER]    run it from the top folder; default: docs"""

import argparse
import collections
import os

import tree

BOX, HEIGHT, GAP, ROW, PAD, TITLE, GROUND = 132, 40, 10, 80, 14, 30, 36
LANE = 12  # the width of an arrow that passes a row
COLOURS = {"source": "#2e7d32", "translator": "#5e35b1", "filter": "#00838f", "sink": "#d84315", "command": "#1565c0"}
STYLE = """
  text { fill: #1b1f24; }
  .page { fill: #ffffff; }
  .group { fill: #f3f5f8; stroke: #8a94a3; }
  .box { fill: #ffffff; stroke: #4a5563; }
  .head { font-weight: bold; font-size: 14px; }
  .note { fill: #4a5563; font-size: 11px; }
  .arrow { fill: none; stroke: #4a5563; stroke-width: 1.3; }
  .wide { stroke-width: 3; }
  .loads { stroke-dasharray: 6 4; }
  .tip { fill: #4a5563; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .page { fill: #0d1117; }
    .group { fill: #161b22; stroke: #6e7681; }
    .box { fill: #21262d; stroke: #9aa4b0; }
    .note { fill: #9aa4b0; }
    .arrow { stroke: #9aa4b0; }
    .tip { fill: #9aa4b0; }
  }
"""


class Graph:
    """The folders of a group and their arrows within it, in rows: each folder is above those that it includes."""

    def __init__(self, modules, uses, allowed=tree.allowed):
        self.uses = {module: [to for to in modules if to in uses[module] and allowed(module, to) and to != module]
                     for module in modules}
        self.level = {}
        for module in modules:  # in the order of the layers
            self.level[module] = 1 + max((self.level[to] for to in self.uses[module]), default=-1)
        for module in reversed(modules):  # then down, to just below those that include it
            users = [self.level[user] for user in modules if module in self.uses[user]]
            self.level[module] = min(users, default=self.level[module] + 1) - 1
        self.arrows = [(module, to) for module in modules for to in self.uses[module]
                       if not any(to in self.below(other) for other in self.uses[module])]
        linked = {end for arrow in self.arrows for end in arrow}
        self.alone = [module for module in modules if module not in linked]
        self.rows = [[module for module in modules if module in linked and self.level[module] == level]
                     for level in range(max(self.level.values()) + 1)]
        self.chains = [self.chain(*arrow) for arrow in self.arrows]
        self.untangle()

    def chain(self, user, used):
        """The points of an arrow: the user, a lane in each row between, the used."""
        lanes = [(user, used, level) for level in range(self.level[user] - 1, self.level[used], -1)]
        for lane in lanes:
            self.rows[lane[2]].append(lane)
        return [user, *lanes, used]

    def below(self, module):
        """All folders that it includes, directly or not."""
        return set(self.uses[module]).union(*map(self.below, self.uses[module]))

    def untangle(self):
        """Orders the rows so that neighbours are near each other."""
        near = collections.defaultdict(list)
        for chain in self.chains:
            for user, used in zip(chain, chain[1:]):
                near[user].append(used)
                near[used].append(user)
        at = {module: (i + 1) / (len(row) + 1) for row in self.rows for i, module in enumerate(row)}
        for rows in (self.rows, self.rows[::-1]) * 4:
            for row in rows:
                row.sort(key=lambda module: sum(at[other] for other in near[module]) / len(near[module]))
                at.update({module: (i + 1) / (len(row) + 1) for i, module in enumerate(row)})

    def width(self):
        return max(sum(map(breadth, row)) + GAP * (len(row) - 1) for row in self.rows)

    def height(self):
        return len(self.rows) * ROW - (ROW - HEIGHT)


def breadth(item):
    return BOX if isinstance(item, str) else LANE


class Drawing:
    def __init__(self):
        self.shapes = []

    def add(self, shape):
        self.shapes.append("  " + shape)

    def rect(self, style, x, y, width, height):
        self.add(f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>')

    def text(self, x, y, text, style="", anchor="start"):
        self.add(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"' + (f' class="{style}"' if style else "") + f">{text}</text>")

    def group(self, x, y, width, height, title, note=""):
        self.rect("group", x, y, width, height)
        self.text(x + PAD, y + (23 if height == GROUND else 20), f'{title}<tspan class="note" font-weight="normal" dx="10">{note}</tspan>', "head")

    def arrow(self, x, y, to_x, to_y, style=""):
        """From the top down, or straight in any direction; without a tip if it passes a row."""
        tip = {"passing": 0, "wide": 9}.get(style, 6)
        down = to_y > y and to_x != x
        middle = (y + to_y) / 2
        end_y = to_y - tip if to_y > y else to_y + tip if to_y < y else to_y
        end_x = to_x if to_y != y else to_x + (tip if to_x < x else -tip)
        path = f"C{x:g} {middle:g} {to_x:g} {middle:g} {end_x:g} {end_y:g}" if down else f"L{end_x:g} {end_y:g}"
        self.add(f'<path class="{" ".join(["arrow", *style.split()])}" d="M{x:g} {y:g}{path}"/>')
        if tip == 0:
            return
        if to_y == y:
            points = f"{to_x:g},{to_y:g} {end_x:g},{to_y - tip:g} {end_x:g},{to_y + tip:g}"
        else:
            points = f"{to_x:g},{to_y:g} {to_x - tip * 0.7:g},{end_y:g} {to_x + tip * 0.7:g},{end_y:g}"
        self.add(f'<polygon class="tip" points="{points}"/>')

    def box(self, x, y, name, kinds=()):
        self.rect("box", x, y, BOX, HEIGHT)
        self.text(x + BOX / 2, y + (18 if kinds else 25), name, anchor="middle")
        for i, kind in enumerate(kinds):
            dot = x + BOX / 2 + (i - (len(kinds) - 1) / 2) * 13
            self.add(f'<circle cx="{dot:g}" cy="{y + 29:g}" r="4" fill="{COLOURS[kind]}"/>')

    def graph(self, graph, x, y, folder, kinds_of):
        """The rows of a graph, the lowest layer at the bottom."""
        at = {}
        for i, row in enumerate(reversed(graph.rows)):
            space = (graph.width() - sum(map(breadth, row))) / len(row)
            left = x + space / 2
            for item in row:
                at[item] = (left + breadth(item) / 2, y + i * ROW)
                left += breadth(item) + space
        for chain in graph.chains:
            for lane in chain[1:-1]:
                self.add(f'<path class="arrow" d="M{at[lane][0]:g} {at[lane][1]:g}v{HEIGHT:g}"/>')
            for user, used in zip(chain, chain[1:]):
                self.arrow(at[user][0], at[user][1] + HEIGHT, *at[used], "" if used == chain[-1] else "passing")
        for item, (middle, top) in at.items():
            if isinstance(item, str):
                self.box(middle - BOX / 2, top, item.removeprefix(folder + "/").removeprefix(tree.SHARED + "/"), kinds_of(item))

    def svg(self, width, height):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
                'font-family="DejaVu Sans, Verdana, Helvetica, sans-serif" font-size="12">\n'
                "  <!-- SPDX-License-Identifier: Apache-2.0 -->\n  <!-- Made by tests/docs/architecture.py. -->\n"
                "  <title>Atalaya: the folders of the tree and their dependencies</title>\n")
        page = f'  <rect class="page" width="{width:g}" height="{height:g}"/>'
        return head + f"  <style>{STYLE}  </style>\n" + "\n".join([page, *self.shapes]) + "\n</svg>\n"


def wrapped(names, width):
    """The names in lines of at most `width` characters."""
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + 1 + len(name) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + name
    return lines


def plugins_by_kind():
    return {kind: [plugin.split("/")[-1] for plugin in sorted(tree.PLUGINS) if plugin.startswith(f"plugins/{kind}s/")]
            for kind in tree.KINDS}


def users_of(module, uses):
    """The kinds of plugins that include it."""
    return [kind for kind in tree.KINDS
            if any(module in uses[plugin] for plugin in tree.PLUGINS if plugin.startswith(f"plugins/{kind}s/"))]


def all_uses():
    uses = collections.defaultdict(set)
    for use in tree.includes():
        uses[use.module].add(use.to)
    return uses


NOTES = {"analysis": "answers from stored samples", "store": "samples on disk, and queries on them",
         "code": "addresses to functions", "host": "a Linux host, read", "protocols": "a folder per wire and file format",
         "io": "files, connections, texts"}


def draw_shared():
    """The rooms of plugins/shared as bands, the lowest at the bottom: a box per library, arrows within a room."""
    uses, drawing = all_uses(), Drawing()
    graphs = {room: Graph([module for module in tree.SHARED_LAYERS if tree.room_of(module) == room], uses) for room in tree.ROOMS}
    columns = 9
    width = max(columns * (BOX + GAP) - GAP, *(graph.width() for graph in graphs.values())) + 2 * PAD + 40
    y = 20
    for room in reversed(tree.ROOMS):
        graph, name = graphs[room], os.path.basename(room)
        linked = graph.height() if graph.arrows else 0
        alone = -(-len(graph.alone) // columns) * (HEIGHT + GAP)
        height = TITLE + linked + (GAP if linked and alone else 0) + alone + PAD
        drawing.group(20, y, width - 40, height, name, NOTES[name])
        if linked:
            drawing.graph(graph, 20 + (width - 40 - graph.width()) / 2, y + TITLE, room, lambda module: users_of(module, uses))
        for i, module in enumerate(graph.alone):
            drawing.box(20 + PAD + i % columns * (BOX + GAP), y + TITLE + linked + (GAP if linked else 0) + i // columns * (HEIGHT + GAP),
                        module.removeprefix(room + "/"), users_of(module, uses))
        y += height
        if room != tree.ROOMS[0]:
            drawing.arrow(width / 2, y, width / 2, y + 28, "wide")
            y += 28
    return drawing.svg(width, y + 20)


def draw():
    uses = all_uses()
    rooms = collections.defaultdict(set)
    for module in tree.SHARED_LAYERS:
        rooms[tree.room_of(module)].update(tree.room_of(to) for to in uses[module] if to in tree.SHARED_LAYERS)
    shared, engine = Graph(tree.ROOMS, rooms, lambda room, to: True), Graph(tree.ENGINE_LAYERS, uses)

    def kinds_of(room):
        return [kind for kind in tree.KINDS if any(kind in users_of(module, uses) for module in tree.SHARED_LAYERS if tree.room_of(module) == room)]

    drawing = Drawing()
    left, margin = 20, 60
    shared_width = max(shared.width() + 2 * PAD, 5 * (BOX + 26) + 2 * PAD)
    engine_width = max(engine.width(), 2 * BOX) + 2 * PAD
    engine_left = left + shared_width + margin
    width = engine_left + engine_width + left

    # The plugins: a card for each kind.
    card = (shared_width - 2 * PAD - 4 * GAP) / 5
    lines = {kind: wrapped(names, int(card / 7.6)) for kind, names in plugins_by_kind().items()}
    card_height = 30 + 17 * max(len(names) for names in lines.values())
    top = 20
    plugins_height = TITLE + card_height + PAD
    drawing.group(left, top, shared_width, plugins_height, "plugins/&lt;kind&gt;s/", "a folder per plugin; no plugin includes another")
    for i, (kind, names) in enumerate(lines.items()):
        x, y = left + PAD + i * (card + GAP), top + TITLE
        drawing.rect("box", x, y, card, card_height)
        drawing.add(f'<circle cx="{x + 15:g}" cy="{y + 16:g}" r="5" fill="{COLOURS[kind]}"/>')
        drawing.text(x + 26, y + 20, kind + "s", "head")
        for j, line in enumerate(names):
            drawing.text(x + 10, y + 40 + 17 * j, line)

    # Their libraries, as rooms.
    shared_top = top + plugins_height + 40
    shared_height = TITLE + shared.height() + PAD
    bottom = max(shared_top + shared_height, top + TITLE + engine.height() + PAD)
    shared_height = bottom - shared_top
    drawing.arrow(left + shared_width / 2, top + plugins_height, left + shared_width / 2, shared_top, "wide")
    drawing.group(left, shared_top, shared_width, shared_height, "plugins/shared/",
                  "libraries in six rooms (shared.svg); dots: kinds of plugins that include it")
    drawing.graph(shared, left + (shared_width - shared.width()) / 2, shared_top + TITLE, tree.SHARED, kinds_of)

    # The engine, as high as plugins and libraries together.
    drawing.group(engine_left, top, engine_width, bottom - top, "core/", "the engine")
    space = (bottom - top - TITLE - PAD - engine.height()) / 2
    inset = (engine_width - engine.width()) / 2
    drawing.graph(engine, engine_left + inset, top + TITLE + max(space, 0), "core", lambda module: ())
    y = top + plugins_height / 2
    drawing.arrow(engine_left, y, left + shared_width, y, "loads")
    drawing.text((engine_left + left + shared_width) / 2, y - 20, "loads", "note", "middle")
    drawing.text((engine_left + left + shared_width) / 2, y - 8, "by dlopen", "note", "middle")

    # The ground: what all use.
    ground, bpf_width = bottom + 40, 190
    base_left = left + bpf_width + GAP
    drawing.arrow(left + bpf_width / 2, bottom, left + bpf_width / 2, ground, "wide")
    drawing.arrow((base_left + left + shared_width) / 2, bottom, (base_left + left + shared_width) / 2, ground, "wide")
    drawing.arrow(engine_left + engine_width / 2, bottom, engine_left + engine_width / 2, ground, "wide")
    drawing.group(left, ground, bpf_width, GROUND, "bpf/", "kernel programs")
    drawing.group(base_left, ground, width - left - base_left, GROUND, "core/base/", "texts, files, units, log, batches and their encodings")
    abi = ground + GROUND + 32
    drawing.arrow((base_left + width - left) / 2, ground + GROUND, (base_left + width - left) / 2, abi, "wide")
    drawing.group(base_left, abi, width - left - base_left, GROUND, "core/include/atalaya/",
                  "the plugin ABI: plugin.h in C, plugin.hpp in C++; plugins of others include only this")
    return drawing.svg(width, abi + GROUND + 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="folder", default="docs", help="output (default: docs)")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for name, picture in (("architecture.svg", draw()), ("shared.svg", draw_shared())):
        with open(os.path.join(arguments.folder, name), "w", encoding="utf-8") as file:
            file.write(picture)


if __name__ == "__main__":
    main()
