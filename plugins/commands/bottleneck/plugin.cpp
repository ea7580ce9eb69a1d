// SPDX-License-Identifier: Apache-2.0
// Command bottleneck: which tasks, phases and nodes slow a job down, and why.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/bottleneck/read_jobs.h"
#include "plugins/commands/bottleneck/output.h"
#include "plugins/shared/analysis/query/options.h"
#include "plugins/shared/analysis/query/output.h"

namespace atalaya::bottleneck {
namespace {

using namespace atalaya::literals;

constexpr const char *kAskForLess =
    "; ask for less: one --job, more --tag, or a shorter time; or allow more with --max-points and --timeout";

// What the suffix of the file says, where it says one.
std::string format_of(const std::string &file, const std::string &format) {
  std::string suffix = query::suffix_of(file);
  if (suffix == "htm") suffix = "html";
  if (suffix == "html" || suffix == "json") {
    if (format != "table" && format != suffix)  // that is the default
      throw Failure(Code::bad_config,
                    "-o " + file + " is a file of " + suffix + ", --format says " + format + "; leave one of them out");
    return suffix;
  }
  if (file.empty() || file == "-" || suffix == "txt") return format;
  throw Failure(Code::bad_config, "-o " + file + ": reports are FILE.html, FILE.json or FILE.txt");
}

class BottleneckCommand final : public Command {
 public:
  static constexpr auto params = query::joined(
      std::array{Param{.name = "job"_str,
                       .type = ATALAYA_STRING,
                       .flags = ATALAYA_REQUIRED,
                       .unit = "ID|all"_str,
                       .summary = "The job, whenever it ran; all: every job of the time."_str},
                 Param{.name = "compare"_str,
                       .type = ATALAYA_STRING,
                       .unit = "ID"_str,
                       .summary = "A job that did the same work later, after a change: speeds of both side by side."_str},
                 Param{.name = "clustering"_str,
                       .type = ATALAYA_ENUM,
                       .default_text = "pam"_str,
                       .allowed = "pam|kmeans"_str,
                       .summary = "How speeds become five grades: pam (k-medoids) does not mind extremes."_str},
                 Param{.name = "least"_str,
                       .type = ATALAYA_INT,
                       .flags = ATALAYA_BOUNDED,
                       .default_text = "20"_str,
                       .unit = "%"_str,
                       .summary = "A node that is slower than the others by less is not reported."_str,
                       .min = 1,
                       .max = 99},
                 query::kTag},
      query::kWindowParams, query::kStoreParams,
      std::array{Param{.name = "o"_str,
                       .type = ATALAYA_STRING,
                       .unit = "FILE.html|FILE.json"_str,
                       .summary = "The file that is written, as its name says; without it standard output."_str},
                 Param{.name = "format"_str,
                       .type = ATALAYA_ENUM,
                       .default_text = "table"_str,
                       .allowed = "table|json|html"_str,
                       .summary = "How it is written; html is one page with pictures that needs nothing else."_str}});
  static constexpr Description description = {
      .name = "bottleneck"_str,
      .summary = "what slows a job down: its slow tasks, phases and nodes, with the reason and the evidence"_str,
      .params = params,
      .example = "atalaya bottleneck --job job_1526555215992_0001 -o job.html"_str};

  explicit BottleneckCommand(Host host) : read_(query::read_options(host)), job_(host.text("job")), tags_(query::read_tags(host)) {
    if (const auto other = host.find("compare")) compare_ = other->text();
    if (job_.empty()) throw Failure(Code::bad_config, "--job: is empty; name a job, or all");
    if (!compare_.empty() && job_ == "all")
      throw Failure(Code::bad_config, "--compare: --job names the job before the change; all is none");
    if (compare_ == job_ && !compare_.empty()) throw Failure(Code::bad_config, "--compare: is the same job; name another one");
    options_.clustering = host.text("clustering") == "kmeans" ? Clustering::kmeans : Clustering::pam;
    options_.least = static_cast<double>(host.integer("least")) / 100;
    if (const auto file = host.find("o")) file_ = file->text();
    format_ = format_of(file_, host.text("format"));
    // A job has a time of its own.
    any_time_ = job_ != "all" && read_.experiment.empty() && read_.from.empty() && read_.to.empty();
  }

  int run(std::span<const atalaya_str>) override {
    return query::answered(
        [&] {
          query::Reading reading(read_);
          if (any_time_) reading.range = {0, reading.now_ns};
          Told told = read_jobs(ids(), tags_, reading.range, *reading.store, reading.budget);
          if (told.tasks.empty() && told.regions.empty()) say_nothing(reading);
          const Analysis analysis = analyse(std::move(told), options_, *reading.store, reading.budget);
          Report report{analysis, change_of(analysis.told), reading.store->name(),
                        any_time_ ? "Whenever it ran" : query::span_text(reading.range),
                        options_.clustering == Clustering::pam ? "pam" : "kmeans"};
          query::write_output(file_, format_ == "json" ? as_json(report) : format_ == "html" ? as_page(report) : as_table(report));
          return 0;
        },
        kAskForLess);
  }

 private:
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    if (job_ != "all") ids.push_back(job_);
    if (!compare_.empty()) ids.push_back(compare_);
    return ids;
  }

  // And when there are some.
  void say_nothing(query::Reading &reading) const {
    query::say_nothing("tasks of jobs", reading.range);
    if (any_time_) return;
    query::Range jobs{reading.now_ns, 0};
    query::Budget part = reading.budget.half();
    try {
      reading.store->spans({{"job", "task"}, tags_, {0, reading.now_ns}}, [&](const store::Span &span) {
        part.work(1);
        const std::optional<int64_t> end = span.duration_ns < 0 ? std::max(reading.now_ns, span.start_ns) : end_of(span);
        if (!end) return;
        jobs.from_ns = std::min(jobs.from_ns, span.start_ns);
        jobs.to_ns = std::max(jobs.to_ns, *end);
      });
    } catch (const query::TooMuch &) {
      return;  // the answer stands without the hint
    }
    if (jobs.to_ns > 0) std::fprintf(stderr, "the jobs in the store ran from %s\n", query::span_text(jobs).c_str());
  }

  std::optional<Change> change_of(const Told &told) const {
    if (compare_.empty()) return std::nullopt;
    Change change;
    for (uint32_t i = 0; i < told.jobs.size(); ++i) {
      if (told.name(told.jobs[i].id) == job_) change.before = i;
      if (told.name(told.jobs[i].id) == compare_) change.after = i;
    }
    return change;
  }

  const query::ReadOptions read_;
  const std::string job_;
  const std::vector<store::TagFilter> tags_;
  std::string compare_, file_, format_;
  DetectOptions options_;
  bool any_time_ = false;
};

}  // namespace
}  // namespace atalaya::bottleneck

ATALAYA_PLUGIN("bottleneck", "0.1.0", "command bottleneck", atalaya::bottleneck::BottleneckCommand)
