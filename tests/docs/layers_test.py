# SPDX-License-Identifier: Apache-2.0
"""Dependencies point one way, in #include lines and in CMake links (tree.py has the rule). No plugin uses another one, and
nothing uses a plugin: code that two plugins share is in plugins/shared."""

import collections
import os
import re
import unittest

import tree


class Layers(unittest.TestCase):
    maxDiff = None

    def test_all_code_is_in_a_module(self):
        outside = [file for file in tree.files(lambda name: name.endswith(tree.CODE)) if tree.module_of(file) is None]
        self.assertEqual(outside, [])

    def test_dependencies_point_one_way(self):
        uses = [*tree.includes(), *tree.links()]
        self.assertGreater(len(uses), 1000)
        wrong = [use for use in uses if not tree.allowed(use.module, use.to)]
        self.assertEqual([], [f"{use.file}:{use.line}: {use.module} uses {use.to}" for use in wrong])

    def test_six_rooms(self):
        self.assertEqual([os.path.basename(room) for room in tree.ROOMS], ["io", "protocols", "host", "code", "store", "analysis"])
        self.assertEqual(sorted(tree.SHARED_LAYERS, key=lambda module: tree.ROOMS.index(tree.room_of(module))), tree.SHARED_LAYERS)

    def test_a_folder_has_at_most_24_files(self):
        sources = collections.Counter(os.path.dirname(file) for file in tree.files(lambda name: name.endswith(tree.CODE)))
        self.assertEqual([], [f"{folder}: {count}" for folder, count in sources.items() if count > 24])

    def test_namespace_core_is_the_engines(self):
        outside = [file for file in tree.files(lambda name: name.endswith(tree.CODE))
                   if file.startswith("plugins/") and re.search(r"^namespace atalaya::core\b", tree.read(file), re.M)]
        self.assertEqual([], outside)

    def test_the_rule(self):
        shared, engine = tree.SHARED_LAYERS, tree.ENGINE_LAYERS
        self.assertIn("plugins/sources/proc", tree.PLUGINS)
        self.assertTrue(tree.allowed("plugins/sources/proc", shared[-1]))
        self.assertTrue(tree.allowed(shared[1], shared[0]))
        self.assertFalse(tree.allowed(shared[0], shared[1]))
        self.assertFalse(tree.allowed("plugins/sources/proc", "plugins/sources/net"))
        self.assertFalse(tree.allowed("plugins/sources/proc", engine[0]))
        self.assertFalse(tree.allowed(engine[-1], shared[0]))
        self.assertFalse(tree.allowed("core/base", engine[0]))
        self.assertFalse(tree.allowed("core/include", "core/base"))


if __name__ == "__main__":
    unittest.main()
