// SPDX-License-Identifier: Apache-2.0
#include "plugins/jvm/perf_map_refresh.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/util/now.h"
#include "plugins/jvm/attach.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kLongestPause = 3'600'000'000'000;
constexpr size_t kMostKnown = 4096;

}  // namespace

void PerfMapRefresh::refresh(int32_t pid, uint64_t start_ns, const std::optional<symbols::ProcessStatus> &status) {
  static const auto ticks = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  const int64_t begin = core::monotonic();
  if (!status || spent_ns_ + options_.timeout_ns > options_.budget_ns) return;
  if (known_.size() >= kMostKnown) std::erase_if(known_, [begin](const auto &entry) { return entry.second.next_ns < begin; });
  Known &known = known_[{pid, start_ns}];
  if (begin < known.next_ns) return;
  auto answer = run_jcmd({pid, start_ns / (1'000'000'000 / ticks), *status}, "Compiler.perfmap", options_.timeout_ns);
  const int64_t end = core::monotonic();
  spent_ns_ += end - begin;
  known.pause_ns = answer ? options_.every_ns : std::clamp(known.pause_ns * 2, options_.every_ns, kLongestPause);
  known.next_ns = end + known.pause_ns;
  if (answer) return;
  ++failures_;
  tell_("the names of Java code are missing: " + answer.error());
}

}  // namespace atalaya::jvm
