// SPDX-License-Identifier: Apache-2.0
// Command trace: spans, metrics and stacks of the store over time, for Perfetto and Chrome's tracing page.
#include <algorithm>
#include <array>
#include <atalaya/plugin.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/commands/trace/stack_lanes.h"
#include "plugins/commands/trace/timeline.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/engine.h"

namespace atalaya::trace {
namespace {

using namespace atalaya::literals;

const std::vector<std::string> kUsualMetrics = {"proc.cpu.user", "proc.cpu.kernel", "jvm.gc.time"};

using store::tag_of;

// The group of lanes of a span: "h1: java-7", or its job or host if it has no process.
std::string process_of(const store::Tags &tags) {
  const std::string host = tag_of(tags, "host");
  const std::string process = tag_of(tags, "process");
  const std::string pid = tag_of(tags, "pid");
  std::string name = process.empty() ? "" : pid.empty() ? process : process + "-" + pid;
  if (const std::string job = tag_of(tags, "job"); name.empty() && !job.empty()) name = "job " + job;
  if (host.empty()) return name.empty() ? "all hosts" : name;
  return name.empty() ? host : host + ": " + name;
}

// Maximum length of a recording; a longer span is from another program.
bool is_recording(const store::Span &span) {
  constexpr int64_t kLongest = int64_t{24} * 3600 * 1'000'000'000;
  return span.name == "recording" && span.duration_ns >= 0 && span.duration_ns <= kLongest;
}

// The category of a span: the most specific of the tags that distinguish kinds of spans.
std::string category_of(const store::Tags &tags) {
  for (const char *key :
       {"alert", "anomaly", "event", "recording", "phase", "region", "attempt", "task", "stage", "workload", "experiment", "job"})
    if (tags.contains(key)) return key;
  return "span";
}

class Trace final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::listed(
          command_line::kTag, command_line::metric_param(0),
          param::integer("top", "Maximum series of each metric, those with the largest integrals; 0: no metrics")
              .defaults("20")
              .range(0, 1e6),
          param::integer("stacks", "Maximum processes with stacks, those with the most samples or time; 0: no stacks")
              .defaults("5")
              .range(0, 1e6),
          param::boolean("recording", "The newest recording of the range: its time, and all its metrics").defaults("false"),
          param::choice("profile", "cpu|offcpu|wall|waker", "Profile of the stacks, as of the command flamegraph").defaults("cpu")),
      command_line::kWindowParams, command_line::kStoreParams,
      command_line::listed(param::string("o", "Output file (default: standard output)").unit("FILE.json")));
  static constexpr Description description = {.name = "trace"_str,
                                              .summary = "Write jobs, tasks, phases, metrics and stacks for Perfetto"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya trace -o trace.json\n"
                                                  "atalaya trace --experiment sort -o sort.json\n"
                                                  "atalaya trace --from -10m --metric 'jvm.gc.*' -o gc.json"_str};

  explicit Trace(Host host)
      : options_(command_line::read_options(host)),
        tags_(command_line::read_tags(host)),
        metrics_(host.texts("metric")),
        top_(static_cast<size_t>(host.integer("top"))),
        stacks_(static_cast<size_t>(host.integer("stacks"))),
        profile_(host.text("profile")),
        recording_(host.boolean("recording")) {
    if (const auto file = host.find("o")) file_ = file->text();
    usual_ = metrics_.empty();
    if (usual_) metrics_ = recording_ ? std::vector<std::string>{"*"} : kUsualMetrics;
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures(
        [&] {
          command_line::Reading reading(options_);
          if (recording_ && !choose_recording(reading)) {
            command_line::report_no_points("recording", reading.range);
            return 1;
          }
          Timeline timeline;
          add_spans(timeline, reading);
          if (top_ > 0)
            for (const std::string &metric : metrics_) add_metric(timeline, metric, reading);
          if (stacks_ > 0) add_stacks(timeline, reading);
          if (timeline.size() == 0) {
            command_line::report_no_points("spans, values or stacks", reading.range);
            return 1;
          }
          command_line::write_output(file_, timeline.text());
          return 0;
        },
        command_line::kAskForLessTime);
  }

 private:
  // Sets the range to that of the newest recording, including the recordings that overlap it: several recorders record at the same
  // time.
  static bool choose_recording(command_line::Reading &reading) {
    store::Selection selection;
    selection.range = reading.range;
    selection.tags = {{"recording", {"*"}}};
    std::vector<query::Range> recordings;
    reading.store->spans(selection, [&](const store::Span &span) {
      reading.budget.work(1);
      if (is_recording(span)) recordings.push_back({span.start_ns, core::end_of(span.start_ns, span.duration_ns)});
    });
    if (recordings.empty()) return false;
    const auto by_end = [](const query::Range &a, const query::Range &b) { return a.to_ns < b.to_ns; };
    std::sort(recordings.begin(), recordings.end(), by_end);
    query::Range all = recordings.back();
    for (auto one = recordings.rbegin(); one != recordings.rend() && one->to_ns > all.from_ns; ++one)
      all.from_ns = std::min(all.from_ns, one->from_ns);
    reading.range = all;
    return true;
  }

  void add_spans(Timeline &timeline, command_line::Reading &reading) const {
    store::Selection selection;
    selection.tags = tags_;
    selection.range = reading.range;
    reading.store->spans(selection, [&](const store::Span &span) {
      reading.budget.work(1);
      reading.budget.reserve(1);
      if (std::any_of(span.fields.begin(), span.fields.end(),
                      [](const auto &field) { return field.name == experiments::kDeleted; }))
        return;
      timeline.add(slice_of(span, std::min(reading.range.to_ns, reading.now_ns)));
    });
  }

  static Slice slice_of(const store::Span &span, int64_t now_ns) {
    Slice slice{
        process_of(span.tags), category_of(span.tags), std::string(span.name), span.start_ns, 0, span.duration_ns < 0, {}, {}};
    slice.end_ns = slice.open ? std::max(now_ns, span.start_ns) : core::end_of(span.start_ns, span.duration_ns);
    if (slice.name.empty()) slice.name = tag_of(span.tags, slice.category.c_str());
    for (const auto &[key, value] : span.tags) slice.texts.emplace_back(key, value);
    for (const store::Field &field : span.fields)
      if (const double value = store::number_of(field); std::isfinite(value)) slice.numbers.emplace_back(field.name, value);
    return slice;
  }

  void add_metric(Timeline &timeline, const std::string &metric, command_line::Reading &reading) const {
    query::Query question;
    question.metrics = {metric};
    question.tags = tags_;
    question.range = reading.range;
    question.group_by = {"host", "process", "pid"};
    try {
      std::vector<query::Answer> answers = query::run_query(question, *reading.store, reading.budget);
      query::select_top(answers, top_, reading.budget);
      for (const query::Answer &answer : answers)
        for (const query::Point &point : answer.points)
          // The value of a window is drawn from the start of the window.
          if (std::isfinite(point.value)) {
            const int64_t length_ns = point.duration_ns > 0 ? point.duration_ns : answer.window_ns;
            timeline.add(Value{process_of(answer.tags), answer.metric, core::start_of(point.time_ns, length_ns), point.value});
          }
    } catch (const query::UnknownMetric &) {
      if (!usual_) throw;
    }
  }

  // Adds the stacks of the profile. The weights of CPU samples are equal; waits and thread dumps are weighted by time.
  void add_stacks(Timeline &timeline, command_line::Reading &reading) const {
    const std::string field = profile_ == "cpu" ? "profile.samples" : "profile.ns";
    store::Selection selection;
    selection.tags = tags_;
    selection.tags.push_back({"profile", {profile_}});
    selection.range = reading.range;
    StackLanes lanes(profile_, field);
    reading.store->stacks(selection, [&](const store::Stack &stack) {
      reading.budget.work(1);
      const double value = store::field_of(stack.fields, field);
      // A stack without a window has no time to divide.
      if (value <= 0 || stack.duration_ns <= 0) return;
      const std::string process = process_of(stack.tags);
      if (lanes.add({process, core::start_of(stack.time_ns, stack.duration_ns), stack.time_ns, stack.folded, value}))
        reading.budget.reserve(1);
    });
    lanes.draw(timeline, stacks_, [&](size_t slices) {
      reading.budget.work(slices);
      reading.budget.reserve(slices);
    });
  }

  const command_line::ReadOptions options_;
  const std::vector<store::TagFilter> tags_;
  std::vector<std::string> metrics_;
  const size_t top_, stacks_;
  const std::string profile_;
  const bool recording_;
  std::string file_;
  bool usual_ = false;
};

}  // namespace
}  // namespace atalaya::trace

ATALAYA_PLUGIN("trace", "0.1.0", "command trace", atalaya::trace::Trace)
