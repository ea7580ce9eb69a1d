// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/read/data_source.h"

#include <algorithm>

#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

bool is_silent(const Work &work) {
  return work.bytes > 0 && work.remote == kUnknown;
}

}  // namespace

int64_t remote_of_both(const Work &a, const Work &b) {
  return is_silent(a) || is_silent(b) ? kUnknown : sum_of(a.remote, b.remote);
}

DataSource::DataSource(const JobData &data) : data_(data) {
  for (const Phase &phase : data.phases) {
    const Task &task = data.tasks[phase.task];
    if (phase.work.remote > 0) remote_.insert({task.job, task.stage, phase.phase});
  }
}

// Whether the phase reads input in this stage, independent of its name.
bool DataSource::reads_remote(const Phase &phase) const {
  const Task &task = data_.tasks[phase.task];
  return !remote_.empty() && remote_.contains({task.job, task.stage, phase.phase});
}

const std::vector<bool> &DataSource::reads_of(const Phase *begin, const Phase *end) {
  names_.clear();
  for (const Phase *phase = begin; phase != end; ++phase) names_.push_back(phase->phase);
  const auto [found, is_new] = reads_.try_emplace(names_);
  if (!is_new) return found->second;
  std::vector<std::string> texts;
  for (const uint32_t name : names_) texts.push_back(data_.name(name));
  for (const std::string &text : texts) found->second.push_back(needs_of(text, texts).input);
  return found->second;
}

DataSource::Remote DataSource::remote_of(const Phase *begin, const Phase *end) {
  const std::vector<bool> &reads = reads_of(begin, end);
  Remote all;
  for (const Phase *phase = begin; phase != end; ++phase) {
    if (!reads[static_cast<size_t>(phase - begin)] && !reads_remote(*phase)) continue;
    if (is_silent(phase->work)) return {};
    all.remote = sum_of(all.remote, phase->work.remote);
    all.of = sum_of(all.of, phase->work.bytes);
  }
  return all;
}

}  // namespace atalaya::jobs
