// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/perf_events.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <utility>

namespace atalaya::perf {
namespace {

constexpr int kMaxCpus = 8192;

core::Descriptor open_event(const perf_event_attr &attributes, int cpu) {
  return core::Descriptor(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
}

std::string reason(const std::string &name, int error) {
  std::string text = "the perf event " + name + " cannot be opened: " + core::error_text(error);
  if (error == EACCES || error == EPERM) text += "; run as root or add CAP_PERFMON";
  if (error == ENOENT || error == EOPNOTSUPP) text += "; this CPU, or the virtual machine, has no such counter";
  return text;
}

core::Result<CpuEvents> open_on_all(const std::string &name, const perf_event_attr &attributes) {
  CpuEvents all{.events = {}, .name = name, .attributes = attributes};
  for (const int cpu : online_cpus()) {
    core::Descriptor file = open_event(attributes, cpu);
    if (!file && errno == ENODEV) continue;  // it has gone offline
    if (!file) return core::Error{reason(name, errno)};
    all.events.push_back({cpu, std::move(file)});
  }
  if (all.events.empty()) return core::Error{reason(name, ENODEV)};
  return all;
}

}  // namespace

core::Descriptor open_on(const CpuEvents &events, int cpu) {
  return open_event(events.attributes, cpu);
}

std::vector<int> online_cpus() {
  auto text = core::read_file("/sys/devices/system/cpu/online", 65536);
  return text ? parse_cpus(*text) : std::vector<int>();
}

CpuChange change_of(const std::vector<int> &sampled, const std::vector<int> &online) {
  CpuChange change;
  if (online.empty()) return change;  // that cannot be: the file could not be read
  std::set_difference(sampled.begin(), sampled.end(), online.begin(), online.end(), std::back_inserter(change.gone));
  std::set_difference(online.begin(), online.end(), sampled.begin(), sampled.end(), std::back_inserter(change.come));
  return change;
}

size_t max_frames() {
  size_t frames = 127;  // the kernel's default
  if (auto text = core::read_file("/proc/sys/kernel/perf_event_max_stack", 64))
    std::from_chars(text->data(), text->data() + text->size(), frames);
  return frames;
}

std::vector<int> parse_cpus(std::string_view text) {
  std::vector<int> cpus;
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) break;
    int last = first;
    if (read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || first < 0 || last >= kMaxCpus) break;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = read.ptr + 1;
  }
  return cpus;
}

core::Result<CpuEvents> open_events(const std::string &event, int frequency, perf_event_attr attributes) {
  attributes.size = sizeof(attributes);
  attributes.freq = 1;
  attributes.sample_freq = static_cast<uint64_t>(frequency);
  attributes.exclude_idle = 1;
  attributes.disabled = 1;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  // Its samples are of the same time each. Those of cycles are not: the kernel takes fewer cycles for one where a CPU is seldom
  // busy, to get as many a second.
  if (event != "cycles") {
    auto clock = open_on_all("cpu-clock", attributes);
    if (clock || event == "cpu-clock") return clock;
  }
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  return open_on_all("cycles", attributes);
}

}  // namespace atalaya::perf
