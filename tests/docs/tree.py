# SPDX-License-Identifier: Apache-2.0
"""The modules of the tree, their layers, and the dependencies between them, from #include lines and CMake links.

A module is a folder with libraries or a plugin: core/base, plugins/shared/host/procfs, plugins/sources/proc."""

import collections
import os
import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
SUBDIRECTORY = re.compile(r"^\s*add_subdirectory\((\S+?)\)", re.M)
# A target that a CMake file defines: its name is the second group, with the prefix that the first group implies.
DEFINITION = re.compile(r"^\s*(atalaya_library|add_library|add_executable|atalaya_bpf|atalaya_plugin)\((\w+)(?:\s+(\w+))?", re.M)
CODE = (".h", ".hpp", ".c", ".cpp", ".h.in")
ABI, BASE, BPF, SHARED = "core/include", "core/base", "bpf", "plugins/shared"
KINDS = ("source", "translator", "filter", "sink", "command")

# A use of `to` in line `line` of `file`, which is in module `module`.
Use = collections.namedtuple("Use", "module to file line")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def cmake(folder):
    path = os.path.join(folder, "CMakeLists.txt")
    return re.sub(r"#.*", "", read(path)) if os.path.exists(path) else ""


def layers(folder, start=0):
    """The folders of a CMakeLists.txt in its order. A folder without libraries counts as the folders in it. Folders that a
    CMakeLists.txt lists after its own libraries are layers above them; those before are parts of them."""
    found = []
    for name in SUBDIRECTORY.findall(cmake(folder)[start:]):
        below = os.path.join(folder, name)
        own = [definition.end() for definition in DEFINITION.finditer(cmake(below))]
        found += [below, *layers(below, own[-1])] if own else layers(below) or [below]
    return found


# The rooms of plugins/shared, each used by those after it.
ROOMS = [os.path.join(SHARED, name) for name in SUBDIRECTORY.findall(cmake(SHARED))]
SHARED_LAYERS = layers(SHARED)
ENGINE_LAYERS = [folder for folder in layers("core") if folder != BASE]
PLUGINS = [folder for folder in layers("plugins") if not folder.startswith(SHARED + "/")]
MODULES = [ABI, BPF, BASE, *ENGINE_LAYERS, *SHARED_LAYERS, *PLUGINS]


def module_of(path):
    """The module that a path is in: the longest that matches. None outside of core, plugins and bpf."""
    return max((module for module in MODULES if path.startswith(module + "/")), key=len, default=None)


def room_of(module):
    return next(room for room in ROOMS if module.startswith(room + "/") or module == room)


def files(names):
    for top in ("core", "plugins", BPF):
        for folder, folders, found in os.walk(top):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(found) if names(name))


def resolved(file, bracket, name):
    """The path in the tree that an #include names, or None: a system header or a generated one."""
    if bracket == "<":
        return os.path.join(ABI, name) if name.startswith("atalaya/") else None
    places = (name, os.path.normpath(os.path.join(os.path.dirname(file), name)))
    return next((place for place in places if os.path.isfile(place)), None)


def includes():
    for file in files(lambda name: name.endswith(CODE)):
        text = read(file)
        for found in INCLUDE.finditer(text):
            target = resolved(file, *found.groups())
            if target:
                yield Use(module_of(file), module_of(target), file, text.count("\n", 0, found.start(2)) + 1)


def target_name(kind, first, second):
    if kind == "atalaya_library":
        return "atalaya_" + first
    if kind == "atalaya_bpf":
        return "bpf_" + first
    return f"{first}_{second}_parts" if kind == "atalaya_plugin" else first


def links():
    texts = {file: cmake(os.path.dirname(file)) for file in files(lambda name: name == "CMakeLists.txt")}
    homes = {"atalaya_abi": ABI}
    for file, text in texts.items():
        for found in DEFINITION.findall(text):
            if found[0] != "add_executable":
                homes[target_name(*found)] = module_of(file)
    for file, text in texts.items():
        for found in re.finditer(r"\w+\b(?!\()", text):
            if found.group(0) in homes:
                yield Use(module_of(file), homes[found.group(0)], file, text.count("\n", 0, found.start()) + 1)


def allowed(module, to):
    """Whether `module` may use `to`: ABI <- core/base <- plugins/shared <- plugins; the engine uses the ABI and core/base.
    Within the engine and within plugins/shared a module uses those that its CMakeLists.txt lists before it."""
    if module == to:
        return True
    if module in (ABI, BPF):
        return False
    if module == BASE:
        return to == ABI
    if to in (ABI, BASE):
        return True
    if module in ENGINE_LAYERS:
        return to in ENGINE_LAYERS[: ENGINE_LAYERS.index(module)]
    if to == BPF:
        return True
    if module in SHARED_LAYERS:
        return to in SHARED_LAYERS[: SHARED_LAYERS.index(module)]
    return to in SHARED_LAYERS
