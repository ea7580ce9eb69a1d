// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/tasks/task_names.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace atalaya::tasks {
namespace {

TaskNames names(const std::vector<std::string> &patterns = {}) {
  auto parsed = TaskNames::parse(patterns);
  REQUIRE_MESSAGE(parsed, (parsed ? std::string() : parsed.error()));
  return std::move(*parsed);
}

std::string error_of(const std::vector<std::string> &patterns) {
  const auto parsed = TaskNames::parse(patterns);
  return parsed ? "" : parsed.error();
}

TaskTags process(const std::vector<std::string> &arguments) {
  std::string line;
  for (const std::string &argument : arguments) line += argument + '\0';
  return of_process(line);
}

}  // namespace

TEST_CASE("threads of Spark have the tags of its spans") {
  const TaskNames all = names();
  CHECK(all.of_thread("Executor task launch worker for task 3.0 in stage 2.0 (TID 17)") == TaskTags{"", "2", "2.3", "17"});
  CHECK(all.of_thread("Executor task launch worker for task 3.1 in stage 2.4 (TID 17)") == TaskTags{"", "2.4", "2.4.3", "17"});
  CHECK(all.of_thread("Executor task launch worker for task 9223372036854775807") == TaskTags{"", "", "", "9223372036854775807"});
  for (const char *name : {"Executor task launch worker-3", "Executor task launch worker for task ", "main", "",
                           "Executor task launch worker for task 3.0 in stage 2.0 (TID 17) x",
                           "x Executor task launch worker for task 17", "Executor task launch worker for task -1",
                           "Executor task launch worker for task 3.0 in stage 2.0 (TID 99999999999999999999)"})
    CHECK_MESSAGE(!all.of_thread(name), name);
}

TEST_CASE("a pattern's groups are tags, and the first pattern that matches counts") {
  const TaskNames all = names({"~^q-(?P<stage>\\w+)/(?P<task>\\d+)", "~(?P<attempt>a[0-9]+)(?P<job>j[0-9]+)?"});
  CHECK(all.of_thread("q-scan/7") == TaskTags{"", "scan", "7", ""});
  CHECK(all.of_thread("x a12j3") == TaskTags{"j3", "", "", "a12"});
  CHECK(all.of_thread("x a12") == TaskTags{"", "", "", "a12"});
  CHECK(all.of_thread("Executor task launch worker for task 17") == TaskTags{"", "", "", "17"});
  CHECK_FALSE(all.of_thread("q-/7"));
  CHECK(all.of_thread("a" + std::string(1000, '1'))->attempt.size() == 256);
}

TEST_CASE("every name that matches begins with one of the prefixes, as the kernel cuts it") {
  const TaskNames all = names({"~^query-(?P<task>[0-9]+)", "~^(?:abc|abd)(?P<task>.*)"});
  const std::vector<std::string> prefixes = all.prefixes();
  CHECK(prefixes == std::vector<std::string>{"Executor task l", "query-", "ab"});
  CHECK(names({"~(?P<task>[0-9]+)"}).prefixes().back().empty());
  for (const std::string name : {"query-1", "abcx", "abdy", "Executor task launch worker for task 17"}) {
    REQUIRE(all.of_thread(name));
    CHECK(
        std::any_of(prefixes.begin(), prefixes.end(), [&](const auto &prefix) { return name.substr(0, 15).starts_with(prefix); }));
  }
}

TEST_CASE("errors of patterns say what to write") {
  CHECK(error_of({"query-*"}) == "pattern \"query-*\" is no regular expression; write \"~^name-(?P<task>[0-9]+)\"");
  CHECK(error_of({"~query"}) == "pattern \"~query\" has no group task or attempt; write (?P<task>...)");
  CHECK(error_of({"~(?P<stage>a)"}) == "pattern \"~(?P<stage>a)\" has no group task or attempt; write (?P<task>...)");
  CHECK(error_of({"~(?P<tasks>a)"}) == "pattern \"~(?P<tasks>a)\": unknown group \"tasks\"; use job, stage, task or attempt");
  CHECK(error_of({"~(?P<task>a"}) == "pattern \"~(?P<task>a\": missing ): (?P<task>a");
  CHECK(error_of(std::vector<std::string>(8, "~(?P<task>a)")) == "more than 7 patterns");
  CHECK(error_of({"~" + std::string(5000, 'a')}).ends_with("\" is longer than 4096 bytes"));
}

TEST_CASE("a process of MapReduce runs an attempt, and one of Spark belongs to a job") {
  CHECK(process({"java", "org.apache.hadoop.mapred.YarnChild", "127.0.0.1", "attempt_1526555215992_0001_m_000003_0", "5"}) ==
        TaskTags{"job_1526555215992_0001", "map", "task_1526555215992_0001_m_000003", "attempt_1526555215992_0001_m_000003_0"});
  CHECK(process({"java", "attempt_200707121733_0003_r_000005_1"}).stage == "reduce");
  CHECK(process({"java", "--executor-id", "1", "--app-id", "app-1"}) == TaskTags{"app-1", "", "", ""});
  for (const char *word : {"attempt_1_2_m_3", "attempt_1_2_x_3_0", "attempt_1_2_m_3_", "attempt_1_2_m_3_0_1", "attempt_a_2_m_3_0",
                           "xattempt_1_2_m_3_0", "--app-id", ""})
    CHECK_MESSAGE(process({"java", word}) == TaskTags{}, word);
  CHECK(of_process("") == TaskTags{});
}

}  // namespace atalaya::tasks
