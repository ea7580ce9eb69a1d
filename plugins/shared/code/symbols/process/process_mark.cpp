// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/symbols/process/process_mark.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/process_stat.h"

namespace atalaya::symbols {
namespace {

using procfs::next_word;

std::string path_of(int32_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

}  // namespace

uint64_t image_mark(uint64_t start_code, uint64_t end_code, uint64_t start_stack) {
  static constexpr uint64_t kFactor = 0x100000001b3;
  return (start_code * kFactor + end_code) * kFactor + start_stack;
}

std::optional<ProcessMark> parse_mark(std::string_view stat) {
  const auto fields = procfs::ProcessStat::parse(stat, 28);
  if (!fields || !fields->has(28)) return std::nullopt;
  const ProcessMark mark{(*fields)[22], image_mark((*fields)[26], (*fields)[27], (*fields)[28])};
  return mark;
}

std::optional<ProcessMark> read_mark(int32_t pid) {
  auto text = core::read_file(path_of(pid, "stat"), 4096);
  return text ? parse_mark(*text) : std::nullopt;
}

int64_t start_time_ns(const ProcessMark &mark) {
  static const int64_t ticks = ::sysconf(_SC_CLK_TCK);
  return core::realtime() - core::clock_ns(CLOCK_BOOTTIME) + static_cast<int64_t>(mark.start_ticks) * (1'000'000'000 / ticks);
}

std::optional<ProcessStatus> parse_status(std::string_view text) {
  ProcessStatus status;
  std::string_view users = core::line_after(text, "Uid:"), groups = core::line_after(text, "Gid:");
  std::string_view pids = core::line_after(text, "NSpid:"), handled_signals = core::line_after(text, "SigCgt:");
  next_word(users);
  next_word(groups);
  const auto user = core::number_from<uint32_t>(next_word(users)), group = core::number_from<uint32_t>(next_word(groups));
  if (!user || !group) return std::nullopt;
  status.user = *user;
  status.group = *group;
  for (std::string_view pid = next_word(pids); !pid.empty(); pid = next_word(pids))
    status.inner_pid = core::number_from<int32_t>(pid).value_or(0);
  status.handled_signals = core::number_from<uint64_t>(next_word(handled_signals), 16).value_or(0);
  return status;
}

std::optional<ProcessStatus> read_status(int32_t pid) {
  auto text = core::read_file(path_of(pid, "status"), 65536);
  return text ? parse_status(*text) : std::nullopt;
}

}  // namespace atalaya::symbols
