// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/targets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace atalaya::http_client {
namespace {

constexpr int64_t kFirstWait = 100'000'000;
constexpr int64_t kMinWait = 1'000'000;

uint64_t mixed(uint64_t value) {  // finalizer of splitmix64: each bit of the hash influences the result for each server
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

}  // namespace

Targets::Targets(std::vector<Url> urls, std::vector<int64_t> weights, int64_t retry_max_ns)
    : spread_(!weights.empty()), retry_max_ns_(retry_max_ns), random_(std::random_device{}()) {
  for (size_t i = 0; i < urls.size(); ++i)
    targets_.push_back({std::move(urls[i]), spread_ ? static_cast<double>(weights[i]) : 1.0, 0, 0});
}

size_t Targets::home(uint64_t hash) const {
  if (!spread_) return 0;
  // Weighted rendezvous hashing: each server has a number for the series; the server with the largest one is chosen.
  size_t best = 0;
  double highest = -1;
  for (size_t i = 0; i < targets_.size(); ++i) {
    const double draw = (static_cast<double>(mixed(hash + i * 0x9e3779b97f4a7c15U) >> 11) + 0.5) * 0x1p-53;
    const double score = targets_[i].weight <= 0 ? 0 : -targets_[i].weight / std::log(draw);
    if (score > highest) {
      highest = score;
      best = i;
    }
  }
  return best;
}

std::optional<Targets::Choice> Targets::pick(size_t home, int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  const auto may = [&](size_t index) { return targets_[index].down_until_ns <= now_ns; };
  if (may(home)) return Choice{home, targets_[home].failures > 0};
  for (size_t i = 0; i < targets_.size(); ++i)
    if (may(i)) return Choice{i, targets_[i].failures > 0};
  return std::nullopt;
}

std::vector<size_t> Targets::order(int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  std::vector<size_t> order(targets_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t index) { return targets_[index].down_until_ns <= now_ns; });
  return order;
}

void Targets::mark_failed(size_t index, int64_t wait_ns, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  Target &target = targets_[index];
  // Concurrent requests fail together: they count as one failure.
  if (target.down_until_ns <= now_ns) target.failures = std::min(target.failures + 1, 30);
  // Half of the delay is random, so that many agents do not reconnect at the same time.
  std::uniform_real_distribution<double> half(0.5, 1.0);
  std::uniform_real_distribution<double> tenth(1.0, 1.1);
  const int64_t own = std::min(retry_max_ns_, kFirstWait << std::min(target.failures - 1, 20));
  const double wait = wait_ns > 0 ? static_cast<double>(wait_ns) * tenth(random_) : static_cast<double>(own) * half(random_);
  target.down_until_ns = std::max(target.down_until_ns, now_ns + static_cast<int64_t>(wait));
}

void Targets::mark_available(size_t index) {
  const std::lock_guard lock(mutex_);
  targets_[index].failures = 0;
  targets_[index].down_until_ns = 0;
}

int64_t Targets::wait(int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  int64_t first = INT64_MAX;
  for (const Target &target : targets_) first = std::min(first, target.down_until_ns - now_ns);
  return std::max(first, kMinWait);
}

}  // namespace atalaya::http_client
