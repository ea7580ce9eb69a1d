// SPDX-License-Identifier: Apache-2.0
// Runs pipeline files in Lua and records their declarations as plain data, without checks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config/description.h"
#include "core/config/lua/lua_state.h"
#include "core/plugin/value.h"

namespace atalaya::core {

struct Report {
  Location where;
  std::string text;
};

// One constructor call.
struct RawComponent {
  enum class Form {
    component,  // a.source.x, a.translate.x, a.filter.x, a.sink.x
    from,       // a.from "name"
    call,       // a.call { function }
    broken,     // a.fitler.x: already reported
  };
  Form form = Form::component;
  uint32_t kind = 0;
  std::string name;
  Location where;
  bool from_library = false;  // the parameters are from a module of the library, not from the file at `where`
  size_t file = 0;            // index in Evaluation::paths
  Value parameters;
  std::vector<Problem> problems;  // problems of the parameters
  int function = LUA_NOREF;       // for a.call: reference to the function in the Lua registry
  bool used = false;
};

// One element of a pipeline's list: a component, a function, or an invalid value.
struct RawEntry {
  int component = -1;  // index in Evaluation::components
  int function = LUA_NOREF;
  Location where;     // location of a function
  std::string wrong;  // the error of an invalid value
};

struct RawPipeline {
  std::string name;
  Location where;
  size_t file = 0;        // index in Evaluation::paths
  bool complete = false;  // the declaration has a body
  std::vector<RawEntry> entries;
  Value options;  // the body's named values
  std::vector<Problem> problems;
};

struct RawTest {
  std::string name;
  Location where;
  Value body;
  std::vector<Problem> problems;
};

struct Evaluation {
  std::unique_ptr<LuaState> state;
  std::vector<Report> reports;
  std::vector<RawComponent> components;
  std::vector<RawPipeline> pipelines;
  std::vector<RawTest> tests;
  std::vector<std::string> paths;  // paths of the pipeline files
  bool finished = false;           // all files ran without an error
};

// Runs the files, in their order, in one Lua state. `library` is the folder of Atalaya's Lua files.
Evaluation evaluate(const std::vector<std::string> &paths, const std::string &library);

}  // namespace atalaya::core
