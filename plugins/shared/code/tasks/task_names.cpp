// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/tasks/task_names.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/files.h"
#include "core/base/text/text.h"

namespace atalaya::tasks {
namespace {

constexpr int64_t kRegexMemory = 256 << 10;  // of one expression
constexpr size_t kMaxPattern = 4096, kMaxValue = 256;
constexpr int kPrefix = 15;  // bytes of a thread's name in the kernel

// Since Spark 3.1, and 2.1 to 3.0. Earlier threads have the number of the thread only.
constexpr const char *kSpark =
    "^Executor task launch worker for (?:task (\\d{1,10})\\.\\d+ in stage (\\d{1,10})\\.(\\d{1,10}) "
    "\\(TID (\\d{1,19})\\)|task (\\d{1,19}))$";

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

re2::RE2::Options options() {
  re2::RE2::Options options(re2::RE2::Latin1);  // bytes: names need not be UTF-8
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  return options;
}

std::string *tag_of(TaskTags &tags, std::string_view group) {
  if (group == "job") return &tags.job;
  if (group == "stage") return &tags.stage;
  if (group == "task") return &tags.task;
  return group == "attempt" ? &tags.attempt : nullptr;
}

// As the source hadoop names them.
std::optional<TaskTags> spark_task(std::string_view name) {
  static const re2::RE2 expression(kSpark, options());
  std::string index, stage, retry, attempt, only;
  if (!re2::RE2::FullMatch(piece(name), expression, &index, &stage, &retry, &attempt, &only)) return std::nullopt;
  if (!only.empty()) return TaskTags{{}, {}, {}, only};
  if (retry.find_first_not_of('0') != std::string::npos) stage += "." + retry;
  return TaskTags{{}, stage, stage + "." + index, attempt};
}

// attempt_1526555215992_0001_m_000003_0
std::optional<TaskTags> mapreduce_attempt(std::string_view word) {
  if (!word.starts_with("attempt_") || word.size() > kMaxValue) return std::nullopt;
  const std::vector<std::string_view> parts = core::split(word, '_');
  if (parts.size() != 6 || (parts[3] != "m" && parts[3] != "r")) return std::nullopt;
  for (const size_t i : {size_t{1}, size_t{2}, size_t{4}, size_t{5}})
    if (!core::is_digits(parts[i]) || parts[i].size() > 20) return std::nullopt;
  const std::string job = std::string(parts[1]) + "_" + std::string(parts[2]);
  return TaskTags{"job_" + job, parts[3] == "m" ? "map" : "reduce",
                  "task_" + job + "_" + std::string(parts[3]) + "_" + std::string(parts[4]), std::string(word)};
}

}  // namespace

struct TaskNames::Pattern {
  std::unique_ptr<re2::RE2> expression;
  std::map<int, std::string> groups;

  std::optional<TaskTags> match(std::string_view name) const {
    std::vector<re2::StringPiece> found(static_cast<size_t>(expression->NumberOfCapturingGroups()) + 1);
    if (!expression->Match(piece(name), 0, name.size(), re2::RE2::UNANCHORED, found.data(), static_cast<int>(found.size())))
      return std::nullopt;
    TaskTags tags;
    for (const auto &[number, group] : groups) {
      const re2::StringPiece &value = found[static_cast<size_t>(number)];
      if (std::string *tag = tag_of(tags, group)) tag->assign(value.data(), std::min<size_t>(value.size(), kMaxValue));
    }
    if (tags.empty()) return std::nullopt;
    return tags;
  }
};

TaskNames::TaskNames() = default;
TaskNames::TaskNames(TaskNames &&) noexcept = default;
TaskNames &TaskNames::operator=(TaskNames &&) noexcept = default;
TaskNames::~TaskNames() = default;

core::Result<TaskNames> TaskNames::parse(std::span<const std::string> patterns) {
  TaskNames names;
  if (patterns.size() > kMaxPatterns) return core::Error{"more than " + std::to_string(kMaxPatterns) + " patterns"};
  for (const std::string &text : patterns) {
    const std::string quoted = "pattern " + core::in_quotes(text.substr(0, 80));
    if (text.size() > kMaxPattern) return core::Error{quoted + " is longer than 4096 bytes"};
    if (!text.starts_with('~')) return core::Error{quoted + " is no regular expression; write \"~^name-(?P<task>[0-9]+)\""};
    Pattern pattern{std::make_unique<re2::RE2>(piece(std::string_view(text).substr(1)), options()), {}};
    if (!pattern.expression->ok()) return core::Error{quoted + ": " + pattern.expression->error()};
    pattern.groups = pattern.expression->CapturingGroupNames();
    TaskTags known;
    for (const auto &[number, group] : pattern.groups) {
      std::string *tag = tag_of(known, group);
      if (tag == nullptr) return core::Error{quoted + ": unknown group \"" + group + "\"; use job, stage, task or attempt"};
      *tag = group;
    }
    if (known.empty()) return core::Error{quoted + " has no group task or attempt; write (?P<task>...)"};
    names.patterns_.push_back(std::move(pattern));
  }
  return names;
}

std::optional<TaskTags> TaskNames::of_thread(std::string_view name) const {
  for (const Pattern &pattern : patterns_)
    if (auto tags = pattern.match(name)) return tags;
  return spark_task(name);
}

std::vector<std::string> TaskNames::prefixes() const {
  std::vector<std::string> prefixes{"Executor task l"};
  for (const Pattern &pattern : patterns_) {
    std::string first, last;
    if (!pattern.expression->PossibleMatchRange(&first, &last, kPrefix)) last = first = {};
    const auto differ = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
    prefixes.emplace_back(first.begin(), differ);
  }
  return prefixes;
}

TaskTags of_process(std::string_view command_line) {
  TaskTags tags;
  bool is_job = false;
  for (const std::string_view word : core::split(command_line, '\0')) {
    if (auto attempt = mapreduce_attempt(word)) return *attempt;
    if (is_job) tags.job = word.substr(0, kMaxValue);
    is_job = word == "--app-id";
  }
  return tags;
}

TaskTags of_process(int32_t pid) {
  auto text = core::read_file("/proc/" + std::to_string(pid) + "/cmdline", 65536);
  return text ? of_process(*text) : TaskTags();
}

}  // namespace atalaya::tasks
