// SPDX-License-Identifier: Apache-2.0
// The texts of /proc/PID/, the first byte selects which.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/process_parse.h"
#include "plugins/sources/proc/process/process_extras.h"

using namespace atalaya;
using namespace atalaya::proc;
using namespace atalaya::procfs;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_stat(std::string_view text) {
  procfs::ProcessReading reading;
  procfs::StatMark mark;
  if (!procfs::parse_stat(text, 100, reading, mark)) {
    require(reading.start_ns == 0 && reading.name.text().empty() && !reading.counters.has(procfs::Counter::user_ns));
    return;
  }
  require(reading.name.text().size() <= text.size() && reading.counters.has(procfs::Counter::user_ns));
  require(reading.start_ns <= INT64_MAX / 2);
}

void check_cgroup(std::string_view text) {
  const std::string_view path = parse_cgroup(text);
  require(path.empty() || path[0] == '/');
  require(container_of(path).size() <= path.size() && unit_of(path).size() <= path.size());
}

// A secret behind its name, or in a URL, is nowhere in the output, whatever is before it.
void check_command(std::string_view text) {
  static const auto redact = io::MatcherList::parse(std::vector<std::string>{"*internal*"}).value();
  require(procfs::redacted_command(text, false, redact).size() <= 1024);
  require(procfs::redacted_command(text, true, redact).size() <= 1024);
  constexpr std::string_view secret = "Canary4711";
  if (text.find("nary4711") != std::string_view::npos) return;
  using namespace std::string_literals;
  for (const std::string &ending :
       {"\0--password\0Canary4711\0"s, "\0--password=Canary4711\0"s, "\0DB_PASSWORD=Canary4711\0"s, "\0x://u:Canary4711@h/\0"s})
    require(procfs::redacted_command(std::string(text) + ending, false, redact).find(secret) == std::string::npos);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  procfs::ProcessReading reading;
  uint64_t ns = 0;
  int64_t seconds = 0;
  switch (data[0]) {
    case 's':
      check_stat(text);
      break;
    case 'i':
      procfs::parse_io(text, reading);
      break;
    case 't':
      procfs::parse_status(text, reading);
      break;
    case 'd':
      require(procfs::parse_schedstat(text, reading) == 0 || reading.counters.has(procfs::Counter::delay_ns));
      break;
    case 'u':
      procfs::parse_uptime(text, ns);
      break;
    case 'b':
      procfs::parse_boot_time(text, seconds);
      break;
    case 'g':
      check_cgroup(text);
      break;
    case 'c':
      check_command(text);
      break;
    default:
      break;
  }
  return 0;
}
