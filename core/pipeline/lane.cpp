// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/lane.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/base/now.h"

namespace atalaya::core {

uint64_t process_due(const Pipelines &pipelines, const std::function<bool()> &stopping) {
  uint64_t windows = 0;
  for (bool any = true; any && !stopping();) {
    any = false;
    for (const auto &pipeline : pipelines) {
      any = pipeline->process_arrivals() || any;
      const ClockReading now = read_clocks();
      if (now.monotonic < pipeline->deadline()) continue;
      if (pipeline->tick(now)) ++windows;
    }
  }
  return windows;
}

int64_t next_deadline(const Pipelines &pipelines) {
  int64_t deadline = INT64_MAX;
  for (const auto &pipeline : pipelines) deadline = std::min(deadline, pipeline->deadline());
  return deadline;
}

bool all_ended(const Pipelines &pipelines) {
  return std::all_of(pipelines.begin(), pipelines.end(),
                     [](const auto &pipeline) { return !pipeline->description().from.empty() || pipeline->ended(); });
}

bool any_unsupported(const Pipelines &pipelines) {
  return std::any_of(pipelines.begin(), pipelines.end(), [](const auto &pipeline) { return pipeline->unsupported(); });
}

Lane::Lane(Pipelines pipelines, std::function<void()> report)
    : pipelines_(std::move(pipelines)), report_(std::move(report)), unsupported_(any_unsupported(pipelines_)) {}

void Lane::start() {
  thread_ = std::thread([this] { run(); });
}

void Lane::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake();
  thread_.join();
}

void Lane::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_all();
}

void Lane::run() {
  while (!stopping_) {
    const uint64_t windows = process_due(pipelines_, [this] { return stopping_.load(); });
    windows_ += windows;
    unsupported_ = any_unsupported(pipelines_);
    const bool has_ended = all_ended(pipelines_);
    if (ended_.exchange(has_ended) != has_ended || windows > 0) report_();
    std::unique_lock lock(mutex_);
    const auto woken = [this] { return woken_; };
    if (const int64_t deadline = next_deadline(pipelines_); deadline == INT64_MAX) {
      wake_.wait(lock, woken);
    } else {
      wake_.wait_until(lock, at(deadline), woken);
    }
    woken_ = false;
  }
}

Division divide(const Pipelines &pipelines) {
  std::map<std::string, std::string> from;
  for (const auto &pipeline : pipelines) from[pipeline->description().name] = pipeline->description().from;
  std::map<std::string, Pipelines> groups;  // by the root pipeline, which has the sources
  std::map<std::string, bool> has_functions;
  for (const auto &pipeline : pipelines) {
    std::string root = pipeline->description().name;
    while (!from[root].empty()) root = from[root];
    groups[root].push_back(pipeline);
    has_functions[root] = has_functions[root] || pipeline->has_functions();
  }
  Division division;
  for (auto &[root, group] : groups) {
    if (has_functions[root] && groups.size() > 1)
      division.lanes.push_back(std::move(group));
    else
      division.engine.insert(division.engine.end(), group.begin(), group.end());
  }
  return division;
}

}  // namespace atalaya::core
