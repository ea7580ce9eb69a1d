// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <unordered_map>

#include "core/base/text/json_writer.h"
#include "plugins/commands/bottleneck/output.h"

namespace atalaya::bottleneck {
namespace {

using core::JsonObject;

const char *kind_text(jobs::Finding::Kind kind) {
  switch (kind) {
    case jobs::Finding::Kind::node:
      return "node";
    case jobs::Finding::Kind::tasks:
      return "tasks";
    case jobs::Finding::Kind::region:
      return "region";
    case jobs::Finding::Kind::rule:
      break;
  }
  return "rule";
}

class Writer {
 public:
  explicit Writer(const Report &report) : report_(report), all_(report.analysis), data_(report.analysis.data) {
    for (const jobs::JobError &error : data_.errors)
      if (error.task != jobs::kNoTask) errors_[error.task] = error.error;
  }

  std::string write() {
    {
      JsonObject object(out_);
      object.text("clustering", report_.clustering);
      object.list("jobs", all_.totals, [&](const jobs::JobTotals &job) { add(job); });
      object.list("errors", data_.errors, [&](const jobs::JobError &error) { add(error); });
      object.list("findings", all_.findings, [&](const jobs::Finding &finding) { add(finding); });
      object.list("compared", all_.compared, [&](const jobs::ComparedJob &compared) { add(compared); });
      object.list("nodes", all_.nodes, [&](const jobs::Node &node) { add(node); });
      object.list("stages", stages(), [&](const jobs::Group *group) { add_stage(*group); });
      object.list("phases", all_.ranks, [&](const jobs::PhaseRank &rank) { add(rank); });
      object.list("regions", all_.regions, [&](const jobs::RegionCost &region) { add(region); });
      if (report_.change) add_change(object.key("compare"));
      add_tasks(object);
      object.list("notes", all_.notes, [&](const std::string &note) { out_.text(note); });
    }
    return out_.take() + '\n';
  }

 private:
  std::string_view job(uint32_t number) const {
    return number == jobs::kNoJob ? std::string_view() : std::string_view(data_.name(data_.jobs[number].id));
  }

  std::vector<const jobs::Group *> stages() const {
    std::vector<const jobs::Group *> found;
    for (const jobs::Group &group : all_.groups)
      if (group.phase == 0) found.push_back(&group);
    return found;
  }

  void add(const jobs::JobTotals &job) {
    JsonObject object(out_);
    const jobs::Job &one = data_.jobs[job.job];
    object.text("job", data_.name(one.id));
    object.text("name", data_.name(one.name));
    object.text("framework", data_.name(one.framework));
    object.text("outcome", outcome_text(one.outcome));
    object.count("tasks", job.tasks);
    object.count("failed", job.failed);
    object.count("killed", job.killed);
    object.count("running", job.running);
    if (job.seconds > 0) object.number("seconds", job.seconds);
    object.number("bytes", job.bytes);
  }

  void add(const jobs::JobError &error) {
    JsonObject object(out_);
    object.text("of", part_text(error.of));
    object.text("job", job(error.job));
    object.text("stage", data_.name(error.stage));
    object.text("attempt", data_.name(error.attempt));
    object.text("node", data_.name(error.host));
    object.text("executor", data_.name(error.executor));
    object.text("outcome", outcome_text(error.outcome));
    object.key("time").milliseconds(error.time_ns);
    object.text("error", data_.name(error.error));
  }

  void add(const jobs::Finding &finding) {
    JsonObject object(out_);
    const bool is_region = finding.kind == jobs::Finding::Kind::region;
    object.text("kind", kind_text(finding.kind));
    object.text("job", job(finding.job));
    object.text("stage", data_.name(finding.stage));
    object.text("phase", data_.name(finding.phase));
    object.text("node", data_.name(finding.host));
    object.text("region", data_.name(finding.region));
    if (!is_region) object.text("reason", finding.rule != nullptr ? finding.rule->name : reason_text(finding.reason));
    object.text("summary", finding.summary);
    if (!is_region) object.number("slower", finding.slower);
    if (finding.kind == jobs::Finding::Kind::node) object.number("chance", finding.chance);
    object.number("lost", finding.lost);
    if (!std::isnan(finding.seconds)) object.number("seconds", finding.seconds);
    object.list("advice", finding.advice, [&](const jobs::Advice &advice) { add(advice); });
    object.list("phases", finding.phases, [&](const jobs::SlowPhase &phase) { add(phase); });
    object.list("tasks", finding.tasks, [&](uint32_t number) {
      const jobs::Task &task = data_.tasks[number];
      out_.text(task.attempt().empty() ? task.task() : task.attempt());
    });
    object.list("evidence", finding.evidence, [&](const std::string &text) { out_.text(text); });
    object.list("checks", finding.checks, [&](const jobs::Check &check) { add(check); });
    if (!finding.index.empty()) add_metrics(object, finding);
  }
  void add(const jobs::Advice &advice) {
    JsonObject object(out_);
    object.text("setting", advice.setting);
    object.text("now", advice.now);
    object.text("proposed", advice.proposed);
    object.text("action", advice.action);
  }
  void add(const jobs::ComparedJob &compared) {
    JsonObject object(out_);
    object.text("job", job(compared.job));
    object.number("least", compared.least);
    object.list("rules", compared.rules, [&](const jobs::RuleValue &value) {
      JsonObject rule(out_);
      rule.text("rule", value.rule->name);
      rule.number("value", value.value);
      rule.number("limit", value.rule->limit);
      rule.text("unit", value.rule->unit);
      rule.text("of", value.rule->measure);
      rule.text("source", value.rule->source);
    });
  }
  void add(const jobs::SlowPhase &phase) {
    JsonObject object(out_);
    object.text("phase", data_.name(all_.groups[phase.group].phase));
    object.number("slower", phase.slower);
    object.number("lost", phase.lost);
  }
  void add(const jobs::Check &check) {
    JsonObject object(out_);
    object.text("what", reason_text(check.reason));
    object.text("verdict", check.verdict == jobs::Verdict::found       ? "found"
                           : check.verdict == jobs::Verdict::ruled_out ? "ruled out"
                                                                       : "unknown");
    object.text("text", check.text);
  }
  void add_metrics(JsonObject &object, const jobs::Finding &finding) {
    object.text("index", finding.index);
    object.count("rows", finding.metrics.rows);
    object.number("explained", finding.metrics.explained);
    object.text("leadingResource", resource_text(finding.leading));
    object.count("leading", finding.metrics.leading);
    object.list("metrics", finding.metrics.all, [&](const jobs::Coefficient &one) {
      JsonObject metric(out_);
      metric.text("metric", one.name);
      metric.number("correlation", one.correlation);
      metric.number("loading", one.loading);
    });
  }

  void add(const jobs::Node &node) {
    JsonObject object(out_);
    object.text("job", job(node.job));
    object.text("node", data_.name(node.host));
    object.count("tasks", node.tasks);
    object.count("lowest", node.lowest);
    object.count("lower", node.lower);
    if (const auto share = node.remote_share()) object.number("remoteShare", *share);
    object.flag("top", node.top);
    object.flag("bottleneck", node.bottleneck);
  }

  void add_group(JsonObject &object, const jobs::Group &group) {
    object.text("job", job(group.job));
    object.text("stage", data_.name(group.stage));
    object.text("phase", data_.name(group.phase));
    object.count("tasks", group.entries.size());
    object.count("withoutSpeed", group.without_speed);
    object.number("speed", speed_of(group, group.speed));
    object.number("seconds", group.seconds);
    std::array<size_t, jobs::kGrades> grades{};
    for (const jobs::Entry &entry : group.entries) ++grades[static_cast<size_t>(entry.grade)];
    {
      JsonObject counts(object.key("grades"));
      for (size_t i = 0; i < jobs::kGrades; ++i) counts.count(grade_text(static_cast<jobs::Grade>(i)), grades[i]);
    }
    object.list("nodes", group.nodes, [&](const jobs::NodeSpeed &node) {
      JsonObject one(out_);
      one.text("node", data_.name(node.host));
      one.count("tasks", node.tasks);
      one.count("lowest", node.lowest);
      one.count("lower", node.lower);
      one.number("speed", speed_of(group, node.speed));
      one.number("others", speed_of(group, node.others));
      one.number("slower", node.slower());
      one.number("lost", node.lost);
      one.number("chance", node.chance);
    });
  }
  void add_stage(const jobs::Group &group) {
    JsonObject object(out_);
    add_group(object, group);
  }
  void add(const jobs::PhaseRank &rank) {
    JsonObject object(out_);
    const jobs::Group &group = all_.groups[rank.group];
    add_group(object, group);
    object.text("bytesOf", group.task_bytes ? "task" : "phase");
    object.number("share", rank.share);
    object.number("correlation", rank.correlation);
    object.number("loading", rank.loading);
    object.flag("top", rank.bottleneck);
    object.flag("bottleneck", is_named(rank.group));
  }
  bool is_named(size_t group) const {
    for (const jobs::Finding &finding : all_.findings)
      for (const jobs::SlowPhase &phase : finding.phases)
        if (phase.group == group) return true;
    return false;
  }

  void add(const jobs::RegionCost &region) {
    JsonObject object(out_);
    object.text("job", job(region.job));
    object.text("region", data_.name(region.name));
    object.text("class", severity_text(region.severity));
    object.count("runs", region.count);
    object.number("seconds", region.seconds);
    object.number("share", region.share);
    object.number("ofTasks", region.of_tasks);
    if (region.has_bytes) object.number("bytes", region.bytes);
    object.flag("critical", region.critical);
  }

  void add_change(core::JsonWriter &out) {
    JsonObject object(out);
    object.text("before", job(report_.change->before));
    object.text("after", job(report_.change->after));
    if (const auto less = shorter(report_)) object.number("shorter", *less);
    object.list("speeds", compare(all_, report_.change->before, report_.change->after), [&](const jobs::Compared &one) {
      JsonObject pair(out_);
      pair.text("stage", data_.name(one.stage));
      pair.text("phase", data_.name(one.phase));
      pair.number("before", one.before);
      pair.number("after", one.after);
    });
  }

  void add_tasks(JsonObject &object) {
    uint32_t number = 0;
    object.list("tasks", data_.tasks, [&](const jobs::Task &task) { add(task, number++); });
  }
  void add(const jobs::Task &task, uint32_t number) {
    JsonObject object(out_);
    object.text("job", job(task.job));
    object.text("task", task.task());
    object.text("attempt", task.attempt());
    object.text("stage", data_.name(task.stage));
    object.text("node", data_.name(task.host));
    object.text("executor", data_.name(task.executor));
    object.text("locality", data_.name(task.locality));
    object.text("outcome", outcome_text(task.outcome));
    if (const auto error = errors_.find(number); error != errors_.end()) object.text("error", data_.name(error->second));
    if (task.work.duration_ns != jobs::kUnknown) object.number("seconds", static_cast<double>(task.work.duration_ns) / 1e9);
    if (task.work.bytes != jobs::kUnknown) object.key("bytes").integer(task.work.bytes);
    if (task.work.remote != jobs::kUnknown) object.key("remote").integer(task.work.remote);
    const bool is_graded = !std::isnan(all_.speeds[number]);
    object.number("speed", all_.speeds[number]);
    if (is_graded) object.text("grade", grade_text(all_.grades[number]));
    if (is_graded || all_.bottlenecks[number]) object.flag("bottleneck", all_.bottlenecks[number]);
  }

  const Report &report_;
  const jobs::Analysis &all_;
  const jobs::JobData &data_;
  std::unordered_map<uint32_t, uint32_t> errors_;  // by task
  core::JsonWriter out_;
};

}  // namespace

std::string as_json(const Report &report) {
  return Writer(report).write();
}

}  // namespace atalaya::bottleneck
