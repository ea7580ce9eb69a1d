# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.svg and docs/shared.svg are drawings of today's tree."""

import unittest
import xml.dom.minidom

import architecture
import tree


def words(picture):
    return " ".join(node.firstChild.data for node in xml.dom.minidom.parseString(picture).getElementsByTagName("text")).split()


class Architecture(unittest.TestCase):
    def test_the_drawings_are_of_this_tree(self):
        for name, picture in (("architecture", architecture.draw()), ("shared", architecture.draw_shared())):
            with open(f"docs/{name}.svg", encoding="utf-8") as file:
                self.assertTrue(file.read() == picture, f"{name}.svg differs; run tests/docs/architecture.py")

    def test_every_folder_is_in_one(self):
        overview, shared = words(architecture.draw()), words(architecture.draw_shared())
        for module in [*tree.ROOMS, *tree.ENGINE_LAYERS]:
            self.assertIn(module.split("/")[-1], overview)
        for plugin in tree.PLUGINS:
            self.assertIn(plugin.split("/")[-1], overview)
        for module in tree.SHARED_LAYERS:
            room = tree.room_of(module)
            self.assertIn(module.removeprefix(room + "/").removeprefix(tree.SHARED + "/"), shared)


if __name__ == "__main__":
    unittest.main()
