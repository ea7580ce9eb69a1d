// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/jvm/perf_map_refresh.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "plugins/shared/code/jvm/as_user.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kMaxPause = 3'600'000'000'000;
constexpr size_t kMaxKnown = 1024;

}  // namespace

void PerfMapRefresh::next_window() {
  spent_ns_ = 0;
  forget_ended();
}

// Forgets only ended JVMs: a signalled JVM must not be signalled again. The stacks of a JVM's last window need its map, which is
// removed a window later.
void PerfMapRefresh::forget_ended() {
  for (auto entry = known_.begin(); entry != known_.end();) {
    const auto mark = symbols::read_mark(entry->first.first);
    const bool has_ended = !mark || mark->start_ticks != entry->first.second;
    const bool had_ended = std::exchange(entry->second.has_ended, has_ended);
    entry = has_ended && had_ended ? known_.erase(entry) : std::next(entry);
  }
}

// Null: too many JVMs.
PerfMapRefresh::Known *PerfMapRefresh::known_of(int32_t pid, const symbols::ProcessMark &mark) {
  const auto known = known_.find({pid, mark.start_ticks});
  if (known != known_.end()) return &known->second;
  return known_.size() < kMaxKnown ? &known_[{pid, mark.start_ticks}] : nullptr;
}

// A JVM answers only its own user.
bool PerfMapRefresh::can_become_user(const symbols::ProcessStatus &status) {
  const AsUser user(status.user, status.group);
  const int error = errno;
  if (user) return true;
  if (!std::exchange(refused_, true))
    report_("no names of Java code in other users' JVMs: a JVM answers only its own user, and switching to that user failed: " +
            core::error_text(error) +
            (::geteuid() == 0 ? "; this root lacks CAP_SETUID or CAP_SETGID" : "; run as root, or link the drop-in perf-jvm"));
  return false;
}

core::Result<std::string> PerfMapRefresh::request(const Target &target, Known &known) const {
  auto map = reserve_perf_map(target);
  if (!map) return core::Error{map.error()};
  if (known.map)
    (*map)->keep();
  else if ((*map)->created())
    known.map = std::move(*map);
  return known.attachment.run(target, "Compiler.perfmap", options_.timeout_ns);
}

void PerfMapRefresh::report_error(Known &known, const std::string &error) {
  if (std::exchange(known.last_error, error) != error) report_("no names of Java code: " + error);
}

void PerfMapRefresh::refresh(int32_t pid, const symbols::ProcessMark &mark, const std::optional<symbols::ProcessStatus> &status) {
  const int64_t begin = core::monotonic();
  if (!status || spent_ns_ + options_.timeout_ns > options_.budget_ns) return;
  Known *known = known_of(pid, mark);
  if (known == nullptr || begin < known->next_ns) return;
  core::Result<std::string> answer = core::Error{};
  const bool asked = can_become_user(*status);
  if (asked) answer = request({pid, mark, *status}, *known);
  const int64_t end = core::monotonic();
  spent_ns_ += end - begin;
  known->pause_ns = answer ? options_.every_ns : std::clamp(known->pause_ns * 2, options_.every_ns, kMaxPause);
  known->next_ns = end + known->pause_ns;
  if (answer || is_unreachable({pid, mark, *status})) return;
  ++failures_;
  if (asked) report_error(*known, answer.error());
}

}  // namespace atalaya::jvm
