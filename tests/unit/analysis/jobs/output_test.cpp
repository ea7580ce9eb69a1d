// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "plugins/commands/bottleneck/output.h"
#include "plugins/commands/bottleneck/path.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

// Two jobs, the second without the first one's slow node; names that could do harm in a page.
jobs::Analysis two_jobs() {
  Spans spans;
  for (const char *job : {"before", "after"}) {
    spans.add("job", {{"job", job}, {"name", "<b>sort</b>"}}, 0, job[0] == 'b' ? 100 : 81);
    for (int i = 0; i < 24; ++i) {
      Tags task = Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 3) + "<x>");
      task["job"] = job;
      const double seconds = (job[0] == 'b' && i % 3 == 1 ? 30 : 10) + 0.1 * (i % 5);
      spans.add("task", task, i, seconds, {{"span.bytes", 1 << 20}, {"span.bytes.remote", 1 << 18}, {"span.outcome", 0}});
      spans.add("phase", Spans::with(task, "phase", "spill"), i, seconds / 2, {{"span.bytes", 1 << 20}});
    }
  }
  spans.add("region", {{"job", "before"}, {"name", "Parser.parse"}}, 0, 320);
  return analysed(spans);
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the table begins with the findings") {
  const jobs::Analysis all = two_jobs();
  const std::string table = as_table({all, Change{0, 1}, "memory", "now"});
  CHECK(table.starts_with("* before (<b>sort</b>): spill of map tasks is slow on node n1<x>: "));
  CHECK(has(table, "    8 of its 8 tasks are in the two lowest grades of this phase; this cost "));
  CHECK(
      has(table,
          "* before (<b>sort</b>): critical code region Parser.parse: very severe, 320 s in 1 runs, 100 % of all regions, 79 % of "
          "the time of tasks on its nodes"));
  CHECK(has(table, "after (<b>sort</b>) took 19 % less time than before (<b>sort</b>)"));
  CHECK(has(table, "\nbefore (<b>sort</b>)  Parser.parse  very severe "));
  CHECK(has(table, "Bottleneck tasks"));
  CHECK(bottleneck_tasks(all).rows.at(0) ==
        command_line::Row{"job", "task", "attempt", "node", "stage", "grade", "KiB/s", "seconds"});
  CHECK(bottleneck_tasks(all).rows.at(1)[0] == "before (<b>sort</b>)");
  Spans healthy;
  healthy.add("task", Spans::task("map", "m", "n"), 0, 1, {{"span.bytes", 5}});
  CHECK(as_table({analysed(healthy), {}, "memory", "now"}).starts_with("no bottleneck found\n"));
}

// An application whose job failed, with a lost executor.
jobs::Analysis broken_job() {
  Spans spans;
  const Tags job = {{"job", "app"}, {"host", "agent"}};
  spans.add("job", {{"job", "app"}, {"name", "etl"}, {"host", "agent"}}, 0, 20, {{"span.outcome", 1}});
  spans.add("error", Spans::with(job, "error", "job 0: Job aborted: bad record\nat f"), 19, 0, {{"span.outcome", 1}});
  spans.add("error", Spans::with(Spans::with(job, "stage", "3"), "error", "Job aborted: bad record"), 18, 0, {{"span.outcome", 1}});
  spans.add("error", {{"job", "app"}, {"executor", "7"}, {"host", "n9"}, {"error", "exit code 137"}}, 4, 0, {{"span.outcome", 1}});
  for (int i = 0; i < 3; ++i) {
    Tags task = Spans::task("3", std::to_string(i), "n" + std::to_string(i));
    task["job"] = "app";
    const int64_t outcome = i == 2 ? 2 : 1;
    spans.add("error", Spans::with(task, "error", i == 2 ? "<stage> cancelled" : "IOException: row " + std::to_string(i)), i + 1, 0,
              {{"span.outcome", outcome}});
    spans.add("task", task, i, 1, {{"span.outcome", outcome}});
  }
  return analysed(spans);
}

TEST_CASE("the reasons of a failed job come first, once each") {
  const jobs::Analysis all = broken_job();
  const std::string first =
      "app (etl) failed\n"
      "    job 0: Job aborted: bad record\n"
      "        at f\n"
      "    executor 7 lost on n9: exit code 137\n"
      "    2 attempts of stage 3 (0, 1) failed on n0, n1: IOException: row 0\n"
      "    attempt 2 of stage 3 killed on n2: <stage> cancelled\n";
  CHECK(as_table({all, {}, "memory", "now"})
            .starts_with(first + "no slow task, phase or node found\n    not compared, because nothing reports them: "));
  CHECK(has(as_table({all, {}, "memory", "now"}), "\napp (etl)  failed "));
  query::Budget budget({});
  query::test::MemoryStore store;
  const PathReport path = path_report(all.data, 0, store, budget);
  CHECK(as_table(path).starts_with(first + "Critical path of app (etl): "));
  CHECK(has(as_json(path), R"({"job":"app","outcome":"failed",)"));
  const std::string json = as_json({all, {}, "memory", "now"});
  CHECK(has(json, R"({"of":"executor","job":"app","node":"n9","executor":"7","outcome":"failed",)"));
  CHECK(has(json, R"("stage":"3","attempt":"1","node":"n1","outcome":"failed",)"));
  CHECK(has(json, R"({"of":"job","job":"app","outcome":"failed",)"));  // not on the agent's host
  CHECK(has(json, R"("attempt":"2","stage":"3","node":"n2","outcome":"killed","error":")"));
  const std::string page = as_page({all, {}, "memory", "now"});
  CHECK(has(page, "<h3>app (etl) failed</h3>"));
  CHECK(has(page, "&lt;stage&gt; cancelled"));
  CHECK_FALSE(has(page, "No bottleneck found"));
}

TEST_CASE("the exception of an attempt comes before the text of MapReduce, which names only the failed task") {
  Spans spans;
  spans.add("job", {{"job", "j"}}, 0, 20, {{"span.outcome", 1}});
  const std::string summary = "Task failed task_1_0001_m_000002\nJob failed as tasks failed. failedMaps:1";
  spans.add("error", {{"job", "j"}, {"error", summary}}, 19, 0, {{"span.outcome", 1}});
  spans.add("task", Spans::task("map", "a", "n1"), 0, 1, {{"span.outcome", 1}});
  spans.add("error", Spans::with(Spans::task("map", "a", "n1"), "error", "Error: bad record"), 1, 0, {{"span.outcome", 1}});
  CHECK(as_table({analysed(spans), {}, "memory", "now"})
            .starts_with(
                "j failed\n    attempt a of stage map failed on n1: Error: bad record\n    Task failed task_1_0001_m_000002\n"));
}

TEST_CASE("a job that succeeded shows its failed attempts, and none that were killed") {
  Spans spans;
  spans.add("job", {{"job", "j"}}, 0, 20, {{"span.outcome", 0}});
  for (const auto &[id, error, outcome] : {std::tuple{"a", "bad disk", 1}, {"b", "a copy succeeded first", 2}}) {
    spans.add("task", Spans::task("map", id, "n1"), 0, 1, {{"span.outcome", outcome}});
    spans.add("error", Spans::with(Spans::task("map", id, "n1"), "error", error), 1, 0, {{"span.outcome", outcome}});
  }
  const std::string table = as_table({analysed(spans), {}, "memory", "now"});
  CHECK(table.starts_with("j succeeded, but parts of it failed\n    attempt a of stage map failed on n1: bad disk\nno slow task"));
  Spans without_reason;
  without_reason.add("job", {{"job", "j"}}, 0, 20, {{"span.outcome", 2}});
  without_reason.add("task", Spans::task("map", "a", "n1"), 0, 1, {{"span.outcome", 2}});
  CHECK(as_table({analysed(without_reason), {}, "memory", "now"}).starts_with("j killed\n    its history has no reason\n"));
}

TEST_CASE("unmeasured values are not printed as zero") {
  Spans spans;  // as Spark's PythonPi: nothing is read or written
  for (int i = 0; i < 10; ++i) {
    const Tags task = Spans::task("0", std::to_string(i), "n" + std::to_string(i % 2));
    spans.add("task", task, i, 5, {{"span.outcome", 0}});
    spans.add("phase", Spans::with(task, "phase", "compute"), i, 4);
  }
  spans.add("job", {{"job", "j"}}, 0, 20);
  const jobs::Analysis all = analysed(spans);
  const Report report{all, {}, "memory", "now"};
  const std::string json = as_json(report);
  CHECK_FALSE(has(json, "\"speed\""));
  CHECK(has(json, "\"seconds\":4"));  // its time is known
  CHECK_FALSE(has(json, "\"bytes\""));
  const std::string table = as_table(report);
  CHECK_FALSE(has(table, " 0 %"));
  CHECK(has(table, "\nj                10       0       0        0       20\n"));
  CHECK(has(table, "\nj    0 compute     10        4"));
  const std::string page = as_page(report);
  CHECK_FALSE(has(page, "nan"));
  CHECK_FALSE(has(page, "<td class=\"n\">0 %"));
}

TEST_CASE("jobs are compared by their tasks' time if one has no end") {
  Spans spans;
  for (const char *job : {"before", "after", "open"})
    for (int i = 0; i < 10; ++i)
      spans.add("task", Spans::with(Spans::task("map", "m" + std::to_string(i), "n"), "job", job), 10 + i, 31,
                {{"span.bytes", 1024}});
  spans.add("job", {{"job", "before"}}, 0, 58);
  spans.add("job", {{"job", "open"}}, 0, -1);
  const jobs::Analysis all = analysed(spans);
  const auto place = [&](const std::string &id) {
    uint32_t i = 0;
    while (all.data.name(all.data.jobs[i].id) != id) ++i;
    return i;
  };
  CHECK(all.totals[place("before")].seconds == 58);
  CHECK(all.totals[place("after")].seconds == 40);
  CHECK(shorter({all, Change{place("before"), place("after")}, "memory", "now"}) == doctest::Approx(0));
  CHECK_FALSE(shorter({all, Change{place("before"), place("open")}, "memory", "now"}).has_value());
}

TEST_CASE("the duration of a run compared with the one before") {
  CHECK(time_text(0.19) == "19 % less time than");
  CHECK(time_text(-0.5) == "50 % more time than");
  CHECK(time_text(0) == "as long as");
  CHECK(time_text(-0.0001) == "as long as");
}

TEST_CASE("JSON has the lists, and a row an attempt") {
  const jobs::Analysis all = two_jobs();
  const std::string json = as_json({all, Change{0, 1}, "memory", "now"});
  CHECK(json.starts_with("{\"clustering\":\"pam\",\"jobs\":[{\"job\":\"before\",\"name\":\"<b>sort</b>\""));
  CHECK(
      has(json,
          "{\"kind\":\"node\",\"job\":\"before\",\"stage\":\"map\",\"phase\":\"spill\",\"node\":\"n1<x>\",\"reason\":\"unknown\""));
  CHECK(has(json, "{\"job\":\"before\",\"node\":\"n1<x>\",\"tasks\":8,\"lowest\":"));
  CHECK(has(json, "\"remoteShare\":0.25,\"top\":true,\"bottleneck\":true}"));
  CHECK(has(json,
            "{\"job\":\"before\",\"task\":\"m1\",\"attempt\":\"m1\",\"stage\":\"map\",\"node\":\"n1<x>\",\"outcome\":\"succeeded\","
            "\"seconds\":30.1,"
            "\"bytes\":1048576,\"remote\":262144,\"speed\":"));
  CHECK(has(json, "\"shorter\":0.18999"));
  CHECK(has(json, "{\"kind\":\"region\",\"job\":\"before\",\"region\":\"Parser.parse\",\"summary\":"));
  CHECK(has(json,
            "{\"job\":\"before\",\"region\":\"Parser.parse\",\"class\":\"very severe\",\"runs\":1,\"seconds\":320,\"share\":1,"
            "\"ofTasks\":0.79"));
  CHECK(json.ends_with("\"notes\":[]}\n"));
}

TEST_CASE("JSON has the node of a task and the distance of its data, if known") {
  Spans spans;
  spans.add("task", Spans::with(Spans::with(Spans::task("3", "1", "n"), "executor", "7"), "locality", "rack"), 0, 1);
  spans.add("task", Spans::task("3", "2", "n"), 0, 1);
  const jobs::Analysis all = analysed(spans);
  const std::string json = as_json({all, {}, "memory", "now"});
  CHECK(has(json, "\"task\":\"1\",\"attempt\":\"1\",\"stage\":\"3\",\"node\":\"n\",\"executor\":\"7\",\"locality\":\"rack\","));
  CHECK(has(json, "\"task\":\"2\",\"attempt\":\"2\",\"stage\":\"3\",\"node\":\"n\",\"seconds\":1"));
}

TEST_CASE("the page draws the grades, and names do no harm") {
  const jobs::Analysis all = two_jobs();
  const std::string page = as_page({all, Change{0, 1}, "memory", "now"});
  CHECK(has(page, "default-src 'none'"));
  CHECK_FALSE(has(page, "<b>sort"));
  CHECK_FALSE(has(page, "n1<x>"));
  CHECK(has(page, "map spill: speed in KiB/s"));
  CHECK(has(page, "map spill: tasks in the lowest grade, by node"));
  CHECK(has(page, "Processing speed in KiB/s, before and after"));
  CHECK(has(page, "<td>before (&lt;b&gt;sort&lt;/b&gt;)</td><td>Parser.parse</td><td>very severe</td><td>yes</td>"));
  CHECK(has(page, "<h2>Bottleneck tasks</h2>"));
  CHECK(has(page, "<th>job</th><th>task</th><th>attempt</th>"));
  CHECK(has(page, "<tr><td>before (&lt;b&gt;sort&lt;/b&gt;)</td><td>m1</td><td>m1</td><td>n1&lt;x&gt;</td><td>map</td><td>low"));
  CHECK(has(page, "The run took 19 % less time than before."));
  CHECK(has(page, ">start, in seconds after the first one</text>"));
  CHECK(has(page, ">20</text>"));  // of 23 s
  CHECK(page.ends_with("</body></html>\n"));
}

TEST_CASE("of many bottleneck tasks the table and the page have some, and the total number") {
  Spans spans;
  for (int i = 0; i < 100; ++i)
    spans.add("task", Spans::task("map", "m" + std::to_string(i), "n" + std::to_string(i % 4)), i,
              (i % 4 == 1 ? 30 : 10) + 0.1 * (i % 5), {{"span.bytes", 1 << 20}, {"span.outcome", 0}});
  const jobs::Analysis all = analysed(spans);
  const TaskRows tasks = bottleneck_tasks(all);
  CHECK(tasks.all == 25);
  REQUIRE(tasks.rows.size() == 21);
  CHECK(tasks.rows[1] == command_line::Row{"m1", "m1", "n1", "map", "lowest", jobs::short_text(1024 / 30.1), "30.1"});
  const Report report{all, {}, "memory", "now"};
  CHECK(has(as_table(report), "\nBottleneck tasks (20 of 25; --format json has all)\n"));
  const std::string page = as_page(report);
  CHECK(has(page, "<td>lowest</td><td class=\"n\">"));
  CHECK(has(page, "<tr><th>task</th>"));
  CHECK(has(page, "</table>\n<p>20 of 25; --format json has all.</p>\n"));
}

}  // namespace
}  // namespace atalaya::bottleneck::test
