// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/symbols.h"
#include "core/config/description.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

struct LoadedFile {
  std::optional<FileDescription> description;  // set if there is no error
  std::vector<std::string> errors;             // one line each: file:line: pipeline "x": source "proc": problem
  std::vector<std::string> warnings;           // the same form
};

// Evaluates a pipeline file in a closed Lua state and checks it against the plugins' schemas. Opens the plugins that it names,
// creates nothing. Bounded in time (2 s) and memory (64 MiB). `library` is the folder of atalaya's own Lua files.
LoadedFile load_file(const std::string &path, Registry &registry, Symbols &symbols, const std::string &library);

// lua/ next to the tree's build folder, or /usr/share/atalaya/lua; $ATALAYA_LUA wins.
std::string default_lua_library();

}  // namespace atalaya::core
