// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/containers.h"

#include <algorithm>
#include <utility>

namespace atalaya::containers {
namespace {

constexpr int64_t kMillisecond = 1'000'000, kSecond = 1000 * kMillisecond;
constexpr int64_t kMinWait = 250 * kMillisecond, kMaxWait = 30 * kSecond;
constexpr int64_t kReadAgain = 60 * kSecond;
// Time after which a missing name is reported: the runtime has written the file by then.
constexpr int64_t kWarnAfter = 5 * kSecond;
// Maximum logged problems, because there may be any number of users' folders.
constexpr size_t kMaxWarnings = 64;

}  // namespace

ContainerNames::ContainerNames(Options options, Warn warn)
    : options_(std::move(options)), warn_(std::move(warn)), state_(options_.root) {}

const Container &ContainerNames::find(const cgroup::Place &place, int64_t now_ns) {
  const bool in_path = place.runtime == cgroup::Runtime::lxc || place.runtime == cgroup::Runtime::nspawn;
  if (in_path || !cgroup::is_container_id(place.id)) {
    in_path_ = {.name = place.id, .known = true};
    return in_path_;
  }
  Entry &entry = entry_of(place, now_ns);
  entry.used = ++uses_;
  if (now_ns >= entry.next_ns) search(place, now_ns, entry);
  return entry.container;
}

// The id alone is not the key: any user may name a cgroup like another user's container.
ContainerNames::Entry &ContainerNames::entry_of(const cgroup::Place &place, int64_t now_ns) {
  const std::string key = place.id + (place.user ? "@" + std::to_string(*place.user) : "");
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  if (entries_.size() >= std::max<size_t>(options_.capacity, 1))
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const auto &a, const auto &b) { return a.second.used < b.second.used; }));
  Entry entry{.first_ns = now_ns, .next_ns = now_ns};
  entry.container.name = cgroup::short_id(place.id);
  return entries_.emplace(key, std::move(entry)).first->second;
}

void ContainerNames::search(const cgroup::Place &place, int64_t now_ns, Entry &entry) {
  Container found;
  if (state_.find(place, found)) {
    entry.container = std::move(found);
    entry.container.known = true;
  }
  if (entry.container.known) {
    entry.next_ns = now_ns + kReadAgain;
    return;
  }
  // The retry interval is proportional to the time for which the name has been unknown: late names are found soon, missing ones
  // cost little.
  const int64_t unknown_for = now_ns - entry.first_ns;
  entry.next_ns = now_ns + std::clamp(unknown_for / 2, kMinWait, kMaxWait);
  if (unknown_for >= kWarnAfter) warn(state_.problem());
}

void ContainerNames::warn(const RuntimeState::Problem &problem) {
  if (!warn_ || problem.text.empty() || warned_.size() >= kMaxWarnings || !warned_.insert(problem.key).second) return;
  warn_(problem.text);
}

}  // namespace atalaya::containers
