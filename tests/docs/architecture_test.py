# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.svg is the drawing of today's tree."""

import unittest
import xml.dom.minidom

import architecture
import tree


class Architecture(unittest.TestCase):
    def test_the_drawing_is_of_this_tree(self):
        with open("docs/architecture.svg", encoding="utf-8") as file:
            self.assertTrue(file.read() == architecture.draw(), "it differs; run tests/docs/architecture.py")

    def test_every_folder_is_in_it(self):
        drawn = [node.firstChild.data for node in xml.dom.minidom.parseString(architecture.draw()).getElementsByTagName("text")]
        words = " ".join(drawn).split()
        for module in [*tree.SHARED_LAYERS, *tree.ENGINE_LAYERS]:
            self.assertIn(module.removeprefix(tree.SHARED + "/").removeprefix("core/"), words)
        for plugin in tree.PLUGINS:
            self.assertIn(plugin.split("/")[-1], words)


if __name__ == "__main__":
    unittest.main()
