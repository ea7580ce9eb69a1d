// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

Tags phase_of(const Tags &task, const std::string &phase, const std::string &source = {}) {
  const Tags tags = Spans::with(task, "phase", phase);
  return source.empty() ? tags : Spans::with(tags, "source", source);
}

// Output of examples/btrace/HadoopMap.java for a task.
void add_map_lines(Spans &spans, const Tags &task, double start = 0, double factor = 1) {
  const auto add = [&](const Tags &tags, double begin, double length, int64_t bytes) {
    spans.add("phase", tags, start + factor * begin, factor * length, {{"span.bytes", bytes}});
  };
  add(phase_of(task, "read"), 1, 3, 1000);
  add(phase_of(task, "map"), 4, 2, 1000);
  add(phase_of(task, "collect"), 6, 2, 900);
  add(phase_of(task, "spill", "memory"), 5, 1, 300);
  add(phase_of(task, "spill", "memory"), 8, 1, 300);
  add(phase_of(task, "merge", "disk"), 9, 1, 600);
}

TEST_CASE("spilled and merged bytes do not show where the input came from") {
  Spans spans;
  for (int i = 0; i < 24; ++i) {
    const std::string host = "n" + std::to_string(i % 4);
    const int wave = i / 4;
    add_map_lines(spans, Spans::task("map", "m" + std::to_string(i), host), 20 * wave, host == "n1" ? 1.9 : 1 + 0.01 * (i % 5));
  }
  const jobs::Analysis all = analysed(spans);
  CHECK(all.data.tasks[0].work.bytes == 1000);
  CHECK(all.data.tasks[0].work.remote == jobs::kUnknown);
  for (const jobs::Node &node : all.nodes) CHECK_FALSE(node.remote_share());
  REQUIRE_FALSE(all.findings.empty());
  const jobs::Finding &finding = all.findings[0];
  CHECK(all.data.name(finding.phase) == "read");
  CHECK(finding.checks[4].reason == jobs::Reason::remote_reads);
  CHECK(finding.checks[4].verdict == jobs::Verdict::unknown);
}

int64_t remote_of(const std::vector<std::pair<Tags, Counts>> &phases) {
  Spans spans;
  double at = 0;
  for (const auto &[tags, counts] : phases) spans.add("phase", tags, at++, 1, counts);
  const jobs::JobData data = spans.take();
  REQUIRE(data.tasks.size() == 1);
  return data.tasks[0].work.remote;
}

TEST_CASE("a task's remote bytes are the sum of its reading phases if each phase reports them") {
  const Tags task = Spans::task("map", "t", "n");
  const Counts some = {{"span.bytes", 1000}}, part = {{"span.bytes", 1000}, {"span.bytes.remote", 300}};
  const auto one = [&](const std::string &phase, const std::string &source) { return phase_of(task, phase, source); };
  CHECK(remote_of({{one("read", "network"), part}, {one("map", ""), some}, {one("spill", "memory"), some}}) == 300);
  CHECK(remote_of({{one("read", "network"), some}, {one("spill", "memory"), some}}) == 1000);
  CHECK(remote_of({{one("read", "disk"), some}, {one("merge", "disk"), some}}) == 0);
  CHECK(remote_of({{one("read", "cache"), some}}) == 0);
  // A part of the input with an unreported source may have been all remote.
  CHECK(remote_of({{one("read", "disk"), some}, {one("read", ""), some}, {one("read", "disk"), some}}) == jobs::kUnknown);
  CHECK(remote_of({{one("read", "disk"), some}, {one("read", ""), {}}}) == 0);
  // Histories of Hadoop: `map` reads, where nothing else does.
  CHECK(remote_of({{one("map", "disk"), some}, {one("merge", ""), some}}) == 0);
  CHECK(remote_of({{one("map", ""), some}, {one("merge", "disk"), some}}) == jobs::kUnknown);
  // Spark: an input of a stage that shuffles, too.
  CHECK(remote_of({{one("shuffle-read", "network"), part}, {one("compute", ""), {}}, {one("shuffle-write", ""), some}}) == 300);
  CHECK(remote_of({{one("shuffle-read", "network"), part}, {one("compute", ""), some}}) == jobs::kUnknown);
  // Reduces by lines: their shuffle.
  CHECK(remote_of({{one("shuffle", "network"), some}, {one("merge", "memory"), some}, {one("sort", ""), some}}) == 1000);
  // A phase with an unusual name counts as reading if it reports remote bytes.
  CHECK(remote_of({{one("load", "network"), some}, {one("store", "disk"), some}}) == 1000);
  CHECK(remote_of({{one("load", "disk"), some}}) == jobs::kUnknown);
}

TEST_CASE("remote bytes are a part of those that were read, not of the most that a phase moved") {
  Spans spans;
  for (int i = 0; i < 24; ++i) {
    const Tags task = Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4));
    const int wave = i / 4;
    const double start = 20 * wave, read = i % 4 == 1 ? 8 : 2 + 0.01 * (i % 5);
    spans.add("phase", phase_of(task, "read", i % 4 == 1 ? "network" : "disk"), start, read, {{"span.bytes", 128 << 20}});
    spans.add("phase", phase_of(task, "collect"), start + read, 2, {{"span.bytes", 400 << 20}});
  }
  const jobs::Analysis all = analysed(spans);
  CHECK(all.data.tasks[1].work.bytes == 400 << 20);
  CHECK(all.data.tasks[1].work.remote == 128 << 20);
  CHECK(all.data.tasks[1].remote_of == 128 << 20);
  for (const jobs::Node &node : all.nodes) CHECK(node.remote_share() == doctest::Approx(all.data.name(node.host) == "n1" ? 1 : 0));
  REQUIRE_FALSE(all.findings.empty());
  CHECK(all.findings[0].reason == jobs::Reason::remote_reads);
  CHECK(all.findings[0].summary.find("remote reads, 100 % of the bytes") != std::string::npos);
}

TEST_CASE("remote bytes that a task reports itself are a part of its own bytes") {
  Spans spans;
  const Tags task = Spans::task("map", "t", "n"), other = Spans::task("map", "u", "n"), third = Spans::task("map", "v", "n");
  const Counts read = {{"span.bytes", 1000}};
  spans.add("task", task, 0, 9, {{"span.bytes", 800}, {"span.bytes.remote", 200}});
  spans.add("phase", phase_of(task, "read", "network"), 0, 1, read);
  spans.add("task", other, 0, 9, {{"span.bytes.remote", 200}});
  spans.add("phase", phase_of(other, "read", "network"), 0, 1, read);
  spans.add("task", third, 0, 9, {{"span.bytes", 800}});
  spans.add("phase", phase_of(third, "read"), 0, 1, {{"span.bytes.remote", 100}});  // of how many it does not say
  const jobs::JobData data = spans.take();
  CHECK(data.tasks[0].remote_of == 800);
  CHECK(data.tasks[1].remote_of == 1000);
  CHECK(data.tasks[2].work.remote == 100);
  CHECK(data.tasks[2].remote_of == 800);
}

TEST_CASE("a phase that reads remotely on one node reads on the others, too") {
  Spans spans;
  spans.add("phase", phase_of(Spans::task("map", "a", "n1"), "load", "network"), 0, 1, {{"span.bytes", 10}});
  spans.add("phase", phase_of(Spans::task("map", "b", "n2"), "load", "disk"), 0, 1, {{"span.bytes", 10}});
  spans.add("phase", phase_of(Spans::task("reduce", "c", "n2"), "load", "disk"), 0, 1, {{"span.bytes", 10}});
  const jobs::JobData data = spans.take();
  CHECK(data.tasks[0].work.remote == 10);
  CHECK(data.tasks[1].work.remote == 0);
  CHECK(data.tasks[2].work.remote == jobs::kUnknown);
}

}  // namespace
}  // namespace atalaya::bottleneck::test
