// SPDX-License-Identifier: Apache-2.0
// Runs pipeline files and records their declarations, unchecked, as plain data.
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
  bool of_library = false;  // a module of the library wrote its parameters, not the file at `where`
  size_t file = 0;          // -> Evaluation::paths
  Value parameters;
  std::vector<Problem> problems;  // of reading the parameters
  int function = LUA_NOREF;       // of a.call: its place in the state's registry
  bool used = false;
};

// One element of a pipeline's list: a component, a function, or neither.
struct RawEntry {
  int component = -1;  // -> Evaluation::components
  int function = LUA_NOREF;
  Location where;  // of a function
  std::string wrong;
};

struct RawPipeline {
  std::string name;
  Location where;
  size_t file = 0;        // -> Evaluation::paths
  bool complete = false;  // it was given a body
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
  std::vector<std::string> paths;  // of the pipeline files
  bool finished = false;           // every file ran to its end
};

// Runs the files one after the other in one state.
Evaluation evaluate(const std::vector<std::string> &paths, const std::string &library);

}  // namespace atalaya::core
