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
  std::vector<std::string> errors;             // one line each: `file:line: pipeline "x": source "proc": problem`
  std::vector<std::string> warnings;           // in the form of `errors`
};

// Evaluates pipeline files in a sandboxed Lua state and checks them against the plugins' schemas. Opens the plugins that the files
// name; creates no components. Limits: 2 s per file, 64 MiB of memory. `library` is the folder of Atalaya's Lua files.
LoadedFiles load_files(const std::vector<std::string> &paths, Registry &registry, Symbols &symbols, const std::string &library);

// The folder of Atalaya's Lua files: $ATALAYA_LUA, else lua/ next to the build folder of a source tree, else
// /usr/share/atalaya/lua.
std::string default_lua_library();

}  // namespace atalaya::core
