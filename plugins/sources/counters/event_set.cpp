// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/event_set.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace atalaya::counters {
namespace {

constexpr size_t kHeader = 3;  // number of events, time enabled, time running
constexpr int kPmuShift = 32;
constexpr uint64_t kTolerance = 100'000'000;  // ns: the clock is read before the events

perf_event_attr attributes_of(size_t slot, const Scope &scope, uint32_t pmu, bool kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = kEvents[slot].type;
  attributes.config = kEvents[slot].config;
  if (!is_software(slot)) attributes.config |= uint64_t{pmu} << kPmuShift;
  attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.exclude_kernel = !kernel;
  // Threads that it starts inherit the event, processes do not.
  attributes.inherit = scope.cpu < 0;
  attributes.inherit_thread = scope.cpu < 0;
  return attributes;
}

// The hardware has no such counter, or none is free in this group.
bool is_out_of_counters(int error) {
  return error == ENOENT || error == EOPNOTSUPP || error == EINVAL || error == ENOSPC;
}

}  // namespace

int Opener::open(size_t slot, const Scope &scope, uint32_t pmu, int leader) {
  if (open_ >= max_events_) return -EMFILE;
  const int event = calls_.open(attributes_of(slot, scope, pmu, kernel_), scope, leader);
  if (event >= 0) ++open_;
  return event;
}

void Opener::close(int event) {
  calls_.close(event);
  --open_;
}

int EventSet::open(Opener &opener, const Scope &scope, uint32_t pmu, const Slots &wanted) {
  scope_ = scope;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    // If only user code is counted, these events are always 0.
    if (!wanted[slot] || (!opener.kernel() && (slot == kSwitches || slot == kMigrations))) continue;
    if (const int error = add(opener, pmu, slot); error != 0) {
      groups_.clear();
      return error;
    }
  }
  Tally before;
  read(opener, 0, before);
  return 0;
}

int EventSet::add(Opener &opener, uint32_t pmu, size_t slot) {
  int event = -EINVAL;
  const bool joins = !groups_.empty() && kEvents[groups_.back().events.front().slot].group == kEvents[slot].group;
  if (joins) event = opener.open(slot, scope_, pmu, groups_.back().events.front().file.get());
  if (event < 0 && is_out_of_counters(-event)) {
    event = opener.open(slot, scope_, pmu, -1);
    if (event >= 0) groups_.emplace_back();
  }
  if (event < 0) return -event;
  groups_.back().events.push_back({slot, EventFile(opener, event)});
  return 0;
}

void EventSet::read(Opener &opener, int64_t elapsed_ns, Tally &tally) {
  // On one CPU no event is enabled for longer than that. (Kernels begin the time of a cgroup's first event long before it.)
  const bool of_one_cpu = scope_.cpu >= 0;
  const uint64_t max_ns = of_one_cpu ? static_cast<uint64_t>(std::max<int64_t>(elapsed_ns, 0)) + kTolerance : UINT64_MAX;
  for (Group &group : groups_) read(opener, group, max_ns, tally);
}

void EventSet::read(Opener &opener, Group &group, uint64_t max_ns, Tally &tally) const {
  std::array<uint64_t, kHeader + kSlots> words{};
  const size_t size = kHeader + group.events.size();
  const ssize_t got = opener.calls().read(group.events.front().file.get(), std::span(words).first(size));
  const bool whole = got == static_cast<ssize_t>(size) && words[0] == group.events.size();
  const uint64_t enabled_ns = words[1], running_ns = words[2];
  const bool sound =
      whole && enabled_ns >= group.enabled_ns && running_ns >= group.running_ns && enabled_ns - group.enabled_ns <= max_ns;
  for (size_t i = 0; i < group.events.size(); ++i) {
    Counted &event = group.events[i];
    const uint64_t now = words[kHeader + i];
    // The counts of software events are valid even if their times are not.
    if (whole && now >= event.last && (sound || is_software(event.slot)))
      tally.add(event.slot, {now - event.last, enabled_ns - group.enabled_ns, running_ns - group.running_ns});
    else
      tally.mark_unknown(event.slot);
    if (whole) event.last = now;
  }
  if (!whole) return;
  group.enabled_ns = enabled_ns;
  group.running_ns = running_ns;
}

Probe probe(Opener &opener, const Scope &scope, uint32_t pmu, const Slots &wanted) {
  Probe result;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (!wanted[slot]) continue;
    const int event = opener.open(slot, scope, pmu, -1);
    if (event >= 0) {
      result.counted.set(slot);
      opener.close(event);
    } else if (!is_out_of_counters(-event)) {
      result.error = -event;
    }
  }
  return result;
}

}  // namespace atalaya::counters
