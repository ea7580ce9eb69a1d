// SPDX-License-Identifier: Apache-2.0
#include "core/config/load.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/files.h"
#include "core/config/check/check_names.h"
#include "core/config/check/check_tests.h"
#include "core/config/check/validate.h"
#include "core/config/evaluate.h"
#include "core/config/lua/lua_functions.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxShown = 20;

// By file and line, the pipeline files first.
std::vector<std::string> lines_of(std::vector<Report> reports, const std::vector<std::string> &paths, std::string_view what) {
  const auto rank = [&paths](const Report &report) { return std::find(paths.begin(), paths.end(), report.where.file); };
  std::stable_sort(reports.begin(), reports.end(), [&rank](const Report &a, const Report &b) {
    const auto rank_a = rank(a);
    const auto rank_b = rank(b);
    return std::tie(rank_a, a.where.file, a.where.line) < std::tie(rank_b, b.where.file, b.where.line);
  });
  std::vector<std::string> lines;
  for (const auto &report : reports) {
    if (lines.size() == kMaxShown) {
      lines.push_back(paths.front() + ": " + std::to_string(reports.size() - kMaxShown) + " more " + std::string(what) +
                      " are not shown");
      break;
    }
    lines.push_back(line_of(report));
  }
  return lines;
}

struct Functions {
  std::unique_ptr<LuaState> state;
  std::vector<int> references;
};

// Loads the functions in another state: functions of pipelines on different threads share no state.
Result<Functions> evaluate_again(const FileDescription &first, size_t functions, Registry &registry, const std::string &library) {
  Evaluation evaluation = evaluate(first.paths, library);
  Validation validation = validate(evaluation, registry);
  const bool same = validation.errors.empty() && evaluation.state->digest() == first.digest &&
                    validation.functions.size() == functions && validation.description.pipelines.size() == first.pipelines.size();
  if (!same) return Error{"gives other pipelines each time that it is read; it may have changed meanwhile: try again"};
  return Functions{std::move(evaluation.state), std::move(validation.functions)};
}

Status give_functions(FileDescription &file, Functions functions, Registry &registry, Symbols &symbols,
                      const std::string &library) {
  const size_t count = functions.references.size();
  std::map<std::string, std::string> from;
  for (const PipelineDescription &pipeline : file.pipelines) from[pipeline.name] = pipeline.from;
  std::map<std::string, std::shared_ptr<FunctionHost>> hosts;  // by the root pipeline, which has the sources
  for (PipelineDescription &pipeline : file.pipelines) {
    if (std::none_of(pipeline.stages.begin(), pipeline.stages.end(), [](const auto &stage) { return stage.function != 0; }))
      continue;
    std::string root = pipeline.name;
    while (!from[root].empty()) root = from[root];
    auto &host = hosts[root];
    if (host == nullptr) {
      if (functions.state == nullptr) {
        auto again = evaluate_again(file, count, registry, library);
        if (!again) return Error{again.error()};
        functions = std::move(*again);
      }
      host = make_function_host(std::move(functions.state), std::move(functions.references), symbols);
    }
    pipeline.functions = host;
  }
  return Done{};
}

}  // namespace

LoadedFiles load_files(const std::vector<std::string> &paths, Registry &registry, Symbols &symbols, const std::string &library) {
  return load_tests(paths, registry, symbols, library).files;
}

LoadedTests load_tests(const std::vector<std::string> &paths, Registry &registry, Symbols &symbols, const std::string &library) {
  Evaluation evaluation = evaluate(paths, library);
  Validation validation = validate(evaluation, registry);
  check_names(evaluation, validation);
  LoadedTests result;
  result.tests = check_tests(evaluation, validation);
  result.files.errors = lines_of(validation.errors, paths, "errors");
  result.files.warnings = lines_of(validation.warnings, paths, "warnings");
  if (!validation.errors.empty()) return result;
  for (const std::string &problem : registry.declare_metrics(symbols))
    result.files.errors.push_back(paths.front() + ": " + problem);
  if (!result.files.errors.empty()) return result;
  FileDescription &description = validation.description;
  description.paths = paths;
  for (const auto &[path, text] : evaluation.state->texts())
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) description.required.push_back(path);
  description.digest = evaluation.state->digest();
  if (!validation.functions.empty()) {
    Functions functions{std::move(evaluation.state), std::move(validation.functions)};
    const Status given = give_functions(description, std::move(functions), registry, symbols, library);
    if (!given) result.files.errors.push_back(paths.front() + ": " + given.error());
    if (!given) return result;
  }
  result.files.description = std::move(description);
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
