// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/sample/symbols.h"
#include "core/config/description.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

struct LoadedFiles {
  std::optional<FileDescription> description;  // set if there is no error
  std::vector<std::string> errors;             // one line each: file:line: pipeline "x": source "proc": problem
  std::vector<std::string> warnings;           // the same form
};

// Evaluates pipeline files in a closed Lua state and checks them against the plugins' schemas. Opens the plugins that they name,
// creates nothing. Bounded in time (2 s a file) and memory (64 MiB). `library` is the folder of atalaya's own Lua files.
LoadedFiles load_files(const std::vector<std::string> &paths, Registry &registry, Symbols &symbols, const std::string &library);

// lua/ next to the tree's build folder, or /usr/share/atalaya/lua; $ATALAYA_LUA wins.
std::string default_lua_library();

}  // namespace atalaya::core
