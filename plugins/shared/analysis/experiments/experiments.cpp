// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/experiments/experiments.h"

#include <algorithm>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::experiments {
namespace {

constexpr std::string_view kExperimentTag = "experiment";
constexpr std::string_view kWorkloadTag = "workload";

std::string taken(query::Tags &tags, std::string_view key) {
  const auto found = tags.find(key);
  if (found == tags.end()) return "";
  std::string value = std::move(found->second);
  tags.erase(found);
  return value;
}

// The range from the start of the first workload to the end of the last one.
Experiment around(const std::vector<Experiment> &workloads) {
  Experiment all;
  all.name = workloads.front().name;
  all.start_ns = workloads.front().start_ns;
  int64_t end_ns = INT64_MIN;
  for (const Experiment &one : workloads) {
    all.start_ns = std::min(all.start_ns, one.start_ns);
    end_ns = std::max(end_ns, one.open() ? INT64_MAX : one.end_ns(0));
  }
  all.duration_ns = end_ns == INT64_MAX ? -1 : end_ns - all.start_ns;
  return all;
}

}  // namespace

std::string_view span_name(const Experiment &experiment) {
  return experiment.workload.empty() ? kExperimentTag : kWorkloadTag;
}

query::Tags span_tags(const Experiment &experiment) {
  store::Tags tags = experiment.tags;
  tags.insert_or_assign(std::string(kExperimentTag), experiment.name);
  if (!experiment.workload.empty()) tags.insert_or_assign(std::string(kWorkloadTag), experiment.workload);
  if (!experiment.user.empty()) tags.insert_or_assign("user", experiment.user);
  if (!experiment.notes.empty()) tags.insert_or_assign("notes", experiment.notes);
  return tags;
}

std::optional<Experiment> experiment_of(const store::Span &span) {
  if (span.name != kExperimentTag && span.name != kWorkloadTag) return std::nullopt;
  for (const store::Field &field : span.fields)
    if (field.name == kDeleted) return std::nullopt;
  Experiment experiment;
  experiment.tags = span.tags;
  experiment.name = taken(experiment.tags, kExperimentTag);
  experiment.workload = taken(experiment.tags, kWorkloadTag);
  experiment.user = taken(experiment.tags, "user");
  experiment.notes = taken(experiment.tags, "notes");
  experiment.start_ns = span.start_ns;
  experiment.duration_ns = span.duration_ns;
  const bool complete = !experiment.name.empty() && experiment.workload.empty() == (span.name == kExperimentTag);
  return complete ? std::optional(experiment) : std::nullopt;
}

std::vector<Experiment> experiments(store::Store &store, std::string_view name, bool workloads) {
  store::Selection selection;
  selection.metrics = {std::string(kExperimentTag)};
  if (workloads) selection.metrics.emplace_back(kWorkloadTag);
  if (!name.empty()) selection.tags = {{std::string(kExperimentTag), {query::exact_pattern(name)}}};
  std::vector<Experiment> found;
  store.spans(selection, [&](const store::Span &span) {
    if (auto experiment = experiment_of(span)) found.push_back(std::move(*experiment));
  });
  return found;
}

Experiment find_experiment(store::Store &store, const std::string &name, const std::string &workload) {
  auto found = experiments(store, name);
  const auto last = std::find_if(found.rbegin(), found.rend(), [&](const Experiment &one) { return one.workload == workload; });
  if (last != found.rend()) return *last;
  std::vector<std::string> known;
  if (found.empty()) {
    for (const Experiment &one : experiments(store, {}, false)) known.push_back(one.name);
    throw query::Wrong("experiment " + core::in_quotes(name) + " is not in the store " + store.name() +
                       core::did_you_mean(name, known));
  }
  if (workload.empty()) return around(found);
  for (const Experiment &one : found) known.push_back(one.workload);
  throw query::Wrong("experiment " + core::in_quotes(name) + " has no workload " + core::in_quotes(workload) +
                     core::did_you_mean(workload, known));
}

void check_name(const char *what, const std::string &name) {
  constexpr size_t kLongest = 200;
  const auto allowed = [](char c) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return plain || std::string_view("-_.:/@+ ").find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80;
  };
  if (!name.empty() && name.size() <= kLongest && name[0] != '-' && std::all_of(name.begin(), name.end(), allowed)) return;
  throw query::Wrong(std::string(what) + " " + core::in_quotes(name) +
                     " is no name; write 1 to 200 letters, digits, spaces and - _ . : / @ +, not beginning with -");
}

}  // namespace atalaya::experiments
