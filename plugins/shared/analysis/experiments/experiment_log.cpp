// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/experiments/experiment_log.h"

#include <deque>
#include <vector>

#include "core/base/now.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/store/location.h"

namespace atalaya::experiments {
namespace {

std::string shown(const Experiment &experiment) {
  const std::string name = "experiment " + core::in_quotes(experiment.name);
  return experiment.workload.empty() ? name : name + ", workload " + core::in_quotes(experiment.workload);
}

void check(const Experiment &experiment) {
  constexpr size_t kMaxNotesLength = 4096;
  check_name("experiment", experiment.name);
  if (!experiment.workload.empty()) check_name("workload", experiment.workload);
  if (!experiment.user.empty()) check_name("user", experiment.user);
  for (const auto &[key, value] : experiment.tags) {
    check_name("tag", key);
    check_name("the value of a tag", value);
  }
  if (experiment.notes.size() > kMaxNotesLength) throw query::Wrong("notes have at most 4096 bytes");
}

}  // namespace

ExperimentLog::ExperimentLog(Host host, const std::string &store)
    : host_(host),
      writer_(store::open_span_writer(store, [host](uint32_t id) { return host.name_of(id); })),
      store_(store::open_store(store)) {}

void ExperimentLog::start(const Experiment &experiment) {
  check(experiment);
  for (const Experiment &known : experiments(*store_, experiment.name)) {
    if (known.workload != experiment.workload || !known.open()) continue;
    throw query::Wrong(shown(known) + " is open since " + io::time_text(known.start_ns) + "; end or delete it first");
  }
  put(experiment);
}

Experiment ExperimentLog::end(const std::string &name, const std::string &workload, int64_t at_ns) {
  std::vector<Experiment> ending;
  for (Experiment &known : experiments(*store_, name))
    if (known.open() && (workload.empty() || known.workload == workload)) ending.push_back(std::move(known));
  const Experiment wanted = find_experiment(*store_, name, workload);
  if (!wanted.open()) throw query::Wrong(shown(wanted) + " is not open: it ended at " + io::time_text(wanted.end_ns(0)));
  for (Experiment &one : ending) {
    if (at_ns <= one.start_ns)
      throw query::Wrong(shown(one) + " began at " + io::time_text(one.start_ns) + " and cannot end before; see --at");
    one.duration_ns = at_ns - one.start_ns;
  }
  put(ending);
  return find_experiment(*store_, name, workload);
}

size_t ExperimentLog::remove(const std::string &name, const std::string &workload) {
  std::vector<Experiment> removed;
  for (const Experiment &known : experiments(*store_, name))
    if (workload.empty() || known.workload == workload) removed.push_back(known);
  if (removed.empty()) find_experiment(*store_, name, workload);  // throws the error that there is no such experiment
  put(removed, true);
  return removed.size();
}

void ExperimentLog::put(std::span<const Experiment> experiments, bool deleted) {
  for (const Experiment &experiment : experiments) check(experiment);
  atalaya_field field{host_.intern(kDeleted), ATALAYA_I64, {}};
  field.value.i64 = 1;
  // The span only points to its texts and tags, which must live as long.
  std::deque<query::Tags> texts;
  std::deque<std::vector<atalaya_tag>> tags;
  std::vector<atalaya_sample> spans;
  for (const Experiment &experiment : experiments) {
    auto &own = tags.emplace_back();
    for (const auto &[key, value] : texts.emplace_back(span_tags(experiment))) own.push_back({host_.intern(key), 0, str(value)});
    atalaya_sample &span = spans.emplace_back();
    span.kind = ATALAYA_SPAN;
    span.tags = own.data();
    span.tag_count = static_cast<uint32_t>(own.size());
    span.fields = &field;
    span.field_count = deleted ? 1 : 0;
    span.time_ns = experiment.start_ns;
    // Closes a deleted span, because retention never deletes open spans.
    span.duration_ns = deleted ? 0 : experiment.duration_ns;
    span.text = str(span_name(experiment));
  }
  writer_->write(spans, writer_->arrival(core::read_clocks()));
}

}  // namespace atalaya::experiments
