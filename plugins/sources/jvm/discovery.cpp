// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/discovery.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "core/base/files.h"
#include "core/base/now.h"
#include "core/base/text/text.h"
#include "plugins/shared/code/jvm/attach_support.h"

namespace atalaya::jvm {
namespace {

// A launcher loads libjvm.so, and the JVM creates its file, within this time.
constexpr int64_t kSettledAfter = 30'000'000'000;
// Interval of checks of other processes: one may become a JVM by exec, or its pid may be reused.
constexpr int64_t kCheckInterval = 10'000'000'000;
constexpr size_t kMaxMaps = size_t{32} << 20, kMaxStat = 4096;

std::string path_of(int32_t pid, const char *file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

int64_t begin_ns(const symbols::ProcessMark &mark) {
  static const auto ticks = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return static_cast<int64_t>(mark.start_ticks * (1'000'000'000 / ticks));
}

}  // namespace

JvmMaps parse_jvm_maps(std::string_view maps, int32_t inner_pid) {
  JvmMaps result{.is_jvm = maps.find("/libjvm.so") != std::string_view::npos, .shared_path = {}};
  if (result.is_jvm) result.shared_path = shared_path_in(maps, inner_pid);
  return result;
}

std::string_view comm_in(std::string_view stat) {
  const size_t begin = stat.find('('), end = stat.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return stat.substr(begin + 1, end - begin - 1);
}

void Discovery::read(int32_t pid, std::string_view stat, Known &known) {
  const core::Descriptor may(::open(path_of(pid, "maps").c_str(), O_RDONLY | O_CLOEXEC));
  if (!may && (errno == EACCES || errno == EPERM)) unreadable_pid_ = pid;
  auto maps = core::read_file(path_of(pid, "maps"), kMaxMaps);
  if (!maps || maps->find("/libjvm.so") == std::string::npos) return;
  const auto status = symbols::read_status(pid);
  if (!status) return;
  const JvmMaps mapped = parse_jvm_maps(*maps, status->inner_pid);
  const std::string_view comm = comm_in(stat);
  known.is_jvm = mapped.is_jvm;
  known.jvm = {.target = {pid, known.mark, *status},
               .comm = std::string(comm.empty() ? "unknown" : comm),
               .shared_path = std::string(mapped.shared_path)};
}

// Returns true if the result of the checks is final: a JVM with its file, or a process that is no JVM after the delay.
bool Discovery::is_settled(const Known &known, int64_t now_ns) {
  if (known.is_jvm && !known.jvm.shared_path.empty()) return true;
  return known.checks > 1 && now_ns - known.since_ns >= kSettledAfter;
}

bool Discovery::can_skip(int32_t pid, int64_t now_ns) {
  const auto known = known_.find(pid);
  if (known == known_.end()) return false;
  const Known &process = known->second;
  if (process.is_jvm || !process.is_settled || now_ns - process.checked_ns >= kCheckInterval) return false;
  known->second.round = round_;
  return true;
}

// If a process cannot be read for lack of descriptors, its state is kept unless it has ended.
void Discovery::keep_state_of(int32_t pid) {
  const auto known = known_.find(pid);
  if (known != known_.end() && known->second.is_jvm && !has_ended(known->second.jvm.target)) known->second.round = round_;
}

void Discovery::check(int32_t pid, int64_t now_ns) {
  if (can_skip(pid, now_ns)) return;
  auto stat = core::read_file(path_of(pid, "stat"), kMaxStat);
  const auto mark = stat ? symbols::parse_mark(*stat) : std::nullopt;
  if (!mark) return keep_state_of(pid);
  Known &known = known_[pid];
  if (known.round == 0 || known.mark != *mark)
    known = {.mark = *mark, .since_ns = known.round == 0 ? begin_ns(*mark) : now_ns, .jvm = {}};
  known.round = round_;
  known.checked_ns = now_ns;
  if (known.is_settled) return;
  ++known.checks;
  read(pid, *stat, known);
  known.is_settled = is_settled(known, now_ns);
}

const std::vector<FoundJvm> &Discovery::find() {
  const int64_t now = core::clock_ns(CLOCK_BOOTTIME);
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return found_;
  ++round_;
  found_.clear();
  while (const dirent *entry = ::readdir(folder.get())) {
    if (const auto pid = core::number_from<int32_t>(static_cast<const char *>(entry->d_name))) check(*pid, now);
  }
  std::erase_if(known_, [this](const auto &entry) { return entry.second.round != round_; });
  for (const auto &[pid, known] : known_)
    if (known.is_jvm && known.is_settled) found_.push_back(known.jvm);
  return found_;
}

}  // namespace atalaya::jvm
