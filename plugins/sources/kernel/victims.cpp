// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/victims.h"

#include <cstring>
#include <string_view>

namespace atalaya::kernel {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// Removes the first entries so that one more fits.
template <class Map>
void limit(Map &map) {
  if (map.size() >= kMaxVictims) map.erase(map.begin());
}

}  // namespace

void Victims::add(const Kill &kill, int64_t time_ns) {
  if (logged_.size() >= kMaxVictims) return;
  logged_.push_back({time_ns, kill.pid, std::string(kill.process), {}, static_cast<double>(kill.resident_kib) / 1024});
}

void Victims::add(const KillCgroup &place) {
  limit(places_);
  places_[place.pid] = place.cgroup;
}

void Victims::add(const oom_mark &mark, std::string cgroup) {
  limit(marks_);
  Mark added{{static_cast<int64_t>(mark.time_ns), mark.pid, {}, std::move(cgroup), {}}, mark.start_ns, 0};
  added.victim.process.assign(mark.comm, ::strnlen(mark.comm, sizeof(mark.comm)));
  if (mark.pages > 0) added.victim.resident_mib = static_cast<double>(mark.pages) * static_cast<double>(page_size_) / kMiB;
  marks_.emplace(mark.pid, std::move(added));  // several threads of one process may be marked
}

bool Victims::is_new(const Mark &mark) {
  const auto found = known_.find(mark.victim.pid);
  if (found != known_.end() && found->second.start_ns == mark.start_ns) return false;
  limit(known_);
  known_[mark.victim.pid] = {mark.start_ns, 0};
  return true;
}

std::vector<Victim> Victims::take(bool is_logged) {
  for (auto &[pid, known] : known_) ++known.age;
  std::vector<Victim> result = std::exchange(logged_, {});
  // A kill that was already reported from its mark is not reported again when its message follows.
  std::erase_if(result, [this](const Victim &victim) {
    const auto known = known_.find(victim.pid);
    return known != known_.end() && known->second.age == 1 && !marks_.contains(victim.pid);
  });
  for (Victim &victim : result) {
    if (const auto mark = marks_.find(victim.pid); mark != marks_.end()) {
      victim.cgroup = mark->second.victim.cgroup;
      is_new(mark->second);
      marks_.erase(mark);
    }
    if (const auto place = places_.find(victim.pid); place != places_.end() && victim.cgroup.empty()) victim.cgroup = place->second;
  }
  places_.clear();
  for (auto at = marks_.begin(); at != marks_.end();) {
    Mark &mark = at->second;
    if (is_logged && ++mark.waited < 2) {  // its message may come with the next window
      ++at;
      continue;
    }
    if (!is_logged && is_new(mark)) result.push_back(mark.victim);
    at = marks_.erase(at);
  }
  return result;
}

}  // namespace atalaya::kernel
