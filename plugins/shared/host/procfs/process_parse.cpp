// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/process_parse.h"

#include <array>
#include <limits>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/process_stat.h"

namespace atalaya::procfs {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the kernel's sched.h
constexpr size_t kLastField = 24;               // index of the last used field of stat

// Parses a counter; false for implausible values. The sum of two plausible ones fits an int64.
bool ticks_to_ns(uint64_t ticks, uint64_t per_second, uint64_t &ns) {
  const uint64_t tick = kSecond / per_second;
  if (ticks > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 2 / tick) return false;
  ns = ticks * tick;
  return true;
}

// A truncated text may end within a number, so only complete lines are used.
std::string_view whole_lines(std::string_view text) {
  return text.substr(0, text.rfind('\n') + 1);
}

// Parses lines "Key:<blanks>number...". The keys are in the order of the kernel's text, so each search continues after the previous
// one.
template <class Key>
struct Line {
  std::string_view label;
  Key key;
};

// Finds a line that starts with the label; returns its rest and moves `text` past it.
bool find_line(std::string_view &text, std::string_view label) {
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, label.size()) == label) {
      text.remove_prefix(at + label.size());
      return true;
    }
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return false;
    at = end + 1;
  }
  return false;
}

// Sets the values of the keys that have a line, and clears the others.
template <class Known, class Key, size_t size>
void take_lines(std::string_view &text, const std::array<Line<Key>, size> &lines, Known &known) {
  for (const Line<Key> &line : lines) {
    std::string_view rest = text;
    uint64_t value = 0;
    known.forget(line.key);
    if (!find_line(rest, line.label) || !next_number(rest, value)) continue;
    known.set(line.key, value);
    text = rest;
  }
}

constexpr std::array<Line<Gauge>, 3> kMemoryLines = {
    {{"VmSize:", Gauge::virtual_kib}, {"VmRSS:", Gauge::resident_kib}, {"VmSwap:", Gauge::swap_kib}}};
constexpr std::array<Line<Counter>, 2> kSwitchLines = {
    {{"voluntary_ctxt_switches:", Counter::switches_voluntary}, {"nonvoluntary_ctxt_switches:", Counter::switches_involuntary}}};
constexpr std::array<Line<Counter>, 6> kIoLines = {{{"rchar:", Counter::reads_bytes},
                                                    {"wchar:", Counter::writes_bytes},
                                                    {"syscr:", Counter::reads_calls},
                                                    {"syscw:", Counter::writes_calls},
                                                    {"read_bytes:", Counter::disk_reads_bytes},
                                                    {"write_bytes:", Counter::disk_writes_bytes}}};

}  // namespace

bool parse_stat(std::string_view text, uint64_t ticks_per_second, ProcessReading &reading, StatMark &mark) {
  const auto found = ProcessStat::parse(text, kLastField);
  if (!found || !found->has(kLastField)) return false;
  const ProcessStat &stat = *found;
  uint64_t start_ns = 0, user_ns = 0, kernel_ns = 0;
  if (!ticks_to_ns(stat[22], ticks_per_second, start_ns) || !ticks_to_ns(stat[14], ticks_per_second, user_ns) ||
      !ticks_to_ns(stat[15], ticks_per_second, kernel_ns))
    return false;
  reading.kernel_thread = (stat[9] & kKernelThread) != 0;
  reading.name = Name(reading.kernel_thread ? stable_name(stat.name()) : stat.name());
  reading.start_ns = start_ns;
  reading.gauges.set(Gauge::state, static_cast<unsigned char>(stat.state()));
  reading.gauges.set(Gauge::parent, stat[4]);
  reading.gauges.set(Gauge::threads, stat[20]);
  reading.counters.set(Counter::faults_minor, stat[10]);
  reading.counters.set(Counter::faults_major, stat[12]);
  reading.counters.set(Counter::user_ns, user_ns);
  reading.counters.set(Counter::kernel_ns, kernel_ns);
  mark = {stat[23], stat[24], stat[11] + stat[13] + stat[16] + stat[17]};
  return true;
}

void parse_io(std::string_view text, ProcessReading &reading) {
  text = whole_lines(text);
  take_lines(text, kIoLines, reading.counters);
}

void parse_status(std::string_view text, ProcessReading &reading) {
  text = whole_lines(text);
  uint64_t real = 0, effective = 0;
  // A name with a newline cannot fake a line: the kernel escapes it here.
  reading.user = -1;
  if (std::string_view rest = text; find_line(rest, "Uid:") && next_number(rest, real) && next_number(rest, effective)) {
    reading.user = static_cast<int64_t>(effective & 0xffffffff);
    text = rest;
  }
  take_lines(text, kMemoryLines, reading.gauges);
  take_lines(text, kSwitchLines, reading.counters);
}

uint64_t parse_schedstat(std::string_view text, ProcessReading &reading) {
  text = whole_lines(text);
  uint64_t ran = 0, waited = 0;
  reading.counters.forget(Counter::delay_ns);
  // A kernel without this accounting prints zeros; a process that can be read has run.
  if (!next_number(text, ran) || !next_number(text, waited) || ran == 0) return 0;
  reading.counters.set(Counter::delay_ns, waited);
  return ran;
}

bool parse_busy(std::string_view text, uint64_t ticks_per_second, HostBusy &busy) {
  std::string_view line = core::cut_at(text, '\n');
  if (next_word(line) != "cpu") return false;
  std::array<uint64_t, 7> ns{};  // user nice system idle iowait irq softirq
  for (uint64_t &value : ns)
    if (uint64_t ticks = 0; !next_number(line, ticks) || !ticks_to_ns(ticks, ticks_per_second, value)) return false;
  busy = {ns[0] + ns[1], ns[2], ns[5] + ns[6]};
  return true;
}

bool parse_uptime(std::string_view text, uint64_t &ns) {
  const std::string_view word = next_word(text);
  const size_t dot = word.find('.');
  uint64_t seconds = 0, hundredths = 0;
  if (dot == std::string_view::npos || word.size() != dot + 3) return false;
  if (!whole_number(word.substr(0, dot), seconds) || !whole_number(word.substr(dot + 1), hundredths)) return false;
  if (seconds > std::numeric_limits<uint64_t>::max() / kSecond - 1) return false;
  ns = seconds * kSecond + hundredths * (kSecond / 100);
  return true;
}

bool parse_boot_time(std::string_view text, int64_t &seconds) {
  uint64_t value = 0;
  if (!find_line(text, "btime ") || !next_number(text, value)) return false;
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 2 / kSecond) return false;
  seconds = static_cast<int64_t>(value);
  return true;
}

}  // namespace atalaya::procfs
