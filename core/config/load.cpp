// SPDX-License-Identifier: Apache-2.0
#include "core/config/load.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/base/files.h"
#include "core/config/check_names.h"
#include "core/config/check_tests.h"
#include "core/config/evaluate.h"
#include "core/config/lua_functions.h"
#include "core/config/validate.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxShown = 20;

// By file and line, the pipeline file first.
std::vector<std::string> lines_of(std::vector<Report> reports, const std::string &path, std::string_view what) {
  std::stable_sort(reports.begin(), reports.end(), [&path](const Report &a, const Report &b) {
    const bool other_a = a.where.file != path;
    const bool other_b = b.where.file != path;
    return std::tie(other_a, a.where.file, a.where.line) < std::tie(other_b, b.where.file, b.where.line);
  });
  std::vector<std::string> lines;
  for (const auto &report : reports) {
    if (lines.size() == kMaxShown) {
      lines.push_back(path + ": " + std::to_string(reports.size() - kMaxShown) + " more " + std::string(what) + " are not shown");
      break;
    }
    lines.push_back(line_of(report));
  }
  return lines;
}

}  // namespace

LoadedFile load_file(const std::string &path, Registry &registry, Symbols &symbols, const std::string &library) {
  return load_tests(path, registry, symbols, library).file;
}

LoadedTests load_tests(const std::string &path, Registry &registry, Symbols &symbols, const std::string &library) {
  Evaluation evaluation = evaluate(path, library);
  Validation validation = validate(evaluation, registry);
  check_names(evaluation, validation);
  LoadedTests result;
  result.tests = check_tests(evaluation, validation);
  result.file.errors = lines_of(validation.errors, path, "errors");
  result.file.warnings = lines_of(validation.warnings, path, "warnings");
  if (!validation.errors.empty()) return result;
  for (const std::string &problem : registry.declare_metrics(symbols)) result.file.errors.push_back(path + ": " + problem);
  if (!result.file.errors.empty()) return result;
  FileDescription &description = validation.description;
  description.path = path;
  const auto &files = evaluation.state->files();
  description.required.assign(files.begin() + 1, files.end());
  description.digest = evaluation.state->digest();
  if (!validation.functions.empty())
    description.functions = make_function_host(std::move(evaluation.state), std::move(validation.functions), symbols);
  result.file.description = std::move(description);
  return result;
}

std::string default_lua_library() {
  if (const char *folder = std::getenv("ATALAYA_LUA"); folder != nullptr && *folder != '\0') return folder;
  // build/<preset>/atalaya runs from the tree, bin/atalaya from its prefix.
  const std::filesystem::path binary = binary_folder();
  for (const auto &folder : {binary / "../../lua", binary / "../share/atalaya/lua"}) {
    std::error_code error;
    if (std::filesystem::exists(folder / "atalaya/init.lua", error)) return folder.lexically_normal();
  }
  return "/usr/share/atalaya/lua";
}

}  // namespace atalaya::core
