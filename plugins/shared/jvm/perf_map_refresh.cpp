// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/jvm/perf_map_refresh.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "plugins/shared/jvm/as_user.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kLongestPause = 3'600'000'000'000;
constexpr size_t kMostKnown = 1024;

}  // namespace

void PerfMapRefresh::next_window() {
  spent_ns_ = 0;
  const bool waiting =
      std::any_of(known_.begin(), known_.end(), [](const auto &entry) { return entry.second.attachment.is_waiting(); });
  if (waiting || known_.size() >= kMostKnown) forget_ended();
}

// Only those: a JVM that was signalled is remembered as long as it lives.
void PerfMapRefresh::forget_ended() {
  std::erase_if(known_, [](const auto &entry) {
    const auto mark = symbols::read_mark(entry.first.first);
    return !mark || mark->start_ticks != entry.first.second;
  });
}

// Null: there are too many.
PerfMapRefresh::Known *PerfMapRefresh::known_of(int32_t pid, const symbols::ProcessMark &mark) {
  const auto known = known_.find({pid, mark.start_ticks});
  if (known != known_.end()) return &known->second;
  return known_.size() < kMostKnown ? &known_[{pid, mark.start_ticks}] : nullptr;
}

// A JVM answers its own user.
bool PerfMapRefresh::may_ask(const symbols::ProcessStatus &status) {
  const AsUser user(status.user, status.group);
  const int error = errno;
  if (user) return true;
  if (!std::exchange(refused_, true))
    tell_("the names of other users' Java code are missing: a JVM answers its own user, and this process cannot become it: " +
          core::error_text(error) + "; run as root, or link the drop-in perf-jvm");
  return false;
}

core::Result<std::string> PerfMapRefresh::ask(const Target &target, Known &known) const {
  if (auto good = may_write_map(target); !good) return core::Error{good.error()};
  return known.attachment.run(target, "Compiler.perfmap", options_.timeout_ns);
}

void PerfMapRefresh::tell_of(Known &known, const std::string &error) {
  if (std::exchange(known.told, error) != error) tell_("the names of Java code are missing: " + error);
}

void PerfMapRefresh::refresh(int32_t pid, const symbols::ProcessMark &mark, const std::optional<symbols::ProcessStatus> &status) {
  const int64_t begin = core::monotonic();
  if (!status || spent_ns_ + options_.timeout_ns > options_.budget_ns) return;
  Known *known = known_of(pid, mark);
  if (known == nullptr || begin < known->next_ns) return;
  core::Result<std::string> answer = core::Error{};
  const bool asked = may_ask(*status);
  if (asked) answer = ask({pid, mark, *status}, *known);
  const int64_t end = core::monotonic();
  spent_ns_ += end - begin;
  known->pause_ns = answer ? options_.every_ns : std::clamp(known->pause_ns * 2, options_.every_ns, kLongestPause);
  known->next_ns = end + known->pause_ns;
  if (answer) return;
  ++failures_;
  if (asked) tell_of(*known, answer.error());
}

}  // namespace atalaya::jvm
