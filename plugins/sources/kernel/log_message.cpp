// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/log_message.h"

#include <array>
#include <charconv>

#include "core/base/text/text.h"

namespace atalaya::kernel {
namespace {

constexpr auto kNone = std::string_view::npos;

template <class Number>
bool starts_with_number(std::string_view &text, Number &number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  return true;
}

// Reads a pid, which is above 0.
bool take_pid(std::string_view &text, int64_t &pid) {
  return starts_with_number(text, pid) && pid > 0 && pid <= INT32_MAX;
}

// Returns the number of KiB after the first `key`.
std::optional<uint64_t> kib_after(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == kNone) return std::nullopt;
  text.remove_prefix(at + key.size());
  uint64_t kib = 0;
  if (!starts_with_number(text, kib) || !text.starts_with("kB") || kib > uint64_t{1} << 50) return std::nullopt;
  return kib;
}

// Memory cgroup out of memory: Killed process 7 (name) total-vm:9kB, anon-rss:9kB, file-rss:9kB, shmem-rss:0kB, UID:0 ...
std::optional<Kill> parse_kill(std::string_view text) {
  static constexpr std::string_view kKilled = ": Killed process ", kSizes = ") total-vm:";
  const size_t at = text.find(kKilled);
  if (at == kNone || text.substr(0, at).find("ut of memory") == kNone) return std::nullopt;
  text.remove_prefix(at + kKilled.size());
  Kill kill;
  if (!take_pid(text, kill.pid) || !core::skip_prefix(text, " (")) return std::nullopt;
  const size_t end = text.rfind(kSizes);  // the name may contain anything
  if (end == kNone) return std::nullopt;
  kill.process = text.substr(0, end);
  text.remove_prefix(end);
  for (const std::string_view key : {" anon-rss:", " file-rss:", " shmem-rss:"}) {
    const auto kib = kib_after(text, key);
    if (!kib) return std::nullopt;
    kill.resident_kib += *kib;
  }
  return kill;
}

// oom-kill:constraint=CONSTRAINT_MEMCG,...,task_memcg=/a,task=name,pid=7,uid=0
std::optional<KillCgroup> parse_kill_cgroup(std::string_view text) {
  static constexpr std::string_view kGroup = ",task_memcg=", kTask = ",task=", kPid = ",pid=";
  if (!text.starts_with("oom-kill:")) return std::nullopt;
  const size_t begin = text.find(kGroup);
  if (begin == kNone) return std::nullopt;
  text.remove_prefix(begin + kGroup.size());
  const size_t end = text.find(kTask), last = text.rfind(kPid);
  if (end == kNone || last == kNone || last < end) return std::nullopt;
  KillCgroup place;
  place.cgroup = text.substr(0, end);
  text.remove_prefix(last + kPid.size());
  if (!take_pid(text, place.pid) || !place.cgroup.starts_with('/')) return std::nullopt;
  return place;
}

// "in FILE[...": before the address, the file of the code.
std::string_view file_of(std::string_view text) {
  const size_t at = text.find(" in ");
  if (at == kNone) return {};
  text.remove_prefix(at + 4);
  const size_t end = text.find('[');
  return end == kNone ? std::string_view{} : text.substr(0, end);
}

// Splits "name[7]" before `end`. The name may contain brackets.
bool take_thread(std::string_view text, Crash &crash) {
  if (!text.ends_with(']')) return false;
  const size_t open = text.rfind('[');
  if (open == kNone || open == 0) return false;
  std::string_view number = text.substr(open + 1);
  if (!take_pid(number, crash.thread) || number != "]") return false;
  crash.process = text.substr(0, open);
  return true;
}

// x86: name[7]: segfault at 8 ip 0 sp 0 error 6 in file[1132,0+1000]
//      traps: name[7] general protection fault ip:0 sp:0 error:0 in file[...]
//      traps: name[7] trap divide error ip:0 sp:0 error:0 in file[...]
// arm64: name[7]: unhandled exception: SP/PC alignment, ... in file[...]
//        name[7]: unhandled level 2 translation fault (11) at 0x8, esr 0x0, in file[...]
std::optional<Crash> parse_crash(std::string_view text) {
  Crash crash;
  size_t kind_at = kNone;
  if (core::skip_prefix(text, "traps: ")) {
    const size_t end = text.find("] ");
    const size_t ip = text.find(" ip:");
    if (end == kNone || ip == kNone || ip < end + 2 || !take_thread(text.substr(0, end + 1), crash)) return std::nullopt;
    crash.kind = text.substr(end + 2, ip - end - 2);
    core::skip_prefix(crash.kind, "trap ");
    kind_at = ip;
  } else if (const size_t fault = text.find("]: segfault at "); fault != kNone) {
    if (!take_thread(text.substr(0, fault + 1), crash)) return std::nullopt;
    crash.kind = "segfault";
    kind_at = fault;
  } else if (const size_t other = text.find("]: unhandled "); other != kNone) {
    if (!take_thread(text.substr(0, other + 1), crash)) return std::nullopt;
    const std::string_view rest = text.substr(other + 13);
    crash.kind = rest.find("(11)") != kNone ? "segfault" : rest.substr(0, rest.find_first_of(":,("));
    kind_at = other;
  }
  if (kind_at == kNone || crash.kind.empty()) return std::nullopt;
  crash.file = file_of(text.substr(kind_at));
  return crash;
}

// EXT4-fs (sda1): Remounting filesystem read-only
// BTRFS info (device sda1: state E): forced readonly
// FAT-fs (sda1): Filesystem has been set read-only
std::optional<FileSystemError> parse_file_system(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kTexts = {"emounting filesystem read-only", "set read-only", "forced readonly"};
  bool is_known = false;
  for (const std::string_view one : kTexts) is_known = is_known || text.find(one) != kNone;
  const size_t open = text.find('(');
  if (!is_known || open == kNone) return std::nullopt;
  text.remove_prefix(open + 1);
  core::skip_prefix(text, "device ");
  const size_t end = text.find_first_of("):");
  if (end == kNone || end == 0) return std::nullopt;
  return FileSystemError{text.substr(0, end)};
}

}  // namespace

// "6,1226,25450790780,-;text", with further properties before ';' and lines of properties after the text.
std::optional<LogRecord> parse_record(std::string_view bytes) {
  LogRecord record;
  uint64_t priority = 0;
  int64_t time_us = 0;
  if (!starts_with_number(bytes, priority) || !core::skip_prefix(bytes, ",") || !starts_with_number(bytes, record.sequence) ||
      !core::skip_prefix(bytes, ",") || !starts_with_number(bytes, time_us) || time_us < 0 || time_us > INT64_MAX / 1000)
    return std::nullopt;
  const size_t text = bytes.find(';');
  if (text == kNone) return std::nullopt;
  record.time_ns = time_us * 1000;
  record.from_kernel = priority >> 3 == 0;
  record.text = bytes.substr(text + 1);
  record.text = record.text.substr(0, record.text.find('\n'));
  return record;
}

Message parse_message(std::string_view text) {
  if (const auto kill = parse_kill(text)) return *kill;
  if (const auto place = parse_kill_cgroup(text)) return *place;
  if (const auto crash = parse_crash(text)) return *crash;
  if (const auto error = parse_file_system(text)) return *error;
  return {};
}

}  // namespace atalaya::kernel
