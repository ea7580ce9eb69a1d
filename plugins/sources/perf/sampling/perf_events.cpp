// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/sampling/perf_events.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "plugins/shared/host/procfs/cpus.h"

namespace atalaya::perf {
namespace {

core::Descriptor open_event(const perf_event_attr &attributes, int cpu) {
  return core::Descriptor(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
}

std::string reason(const std::string &name, int error) {
  std::string text = "cannot open the perf event " + name + ": " + core::error_text(error);
  if (error == EACCES || error == EPERM) text += "; run as root or grant CAP_PERFMON";
  if (error == ENOENT || error == EOPNOTSUPP) text += "; this CPU or virtual machine has no such counter";
  return text;
}

core::Result<CpuEvents> open_on_all(const std::string &name, const perf_event_attr &attributes) {
  CpuEvents all{.events = {}, .name = name, .attributes = attributes};
  for (const int cpu : procfs::online_cpus()) {
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

size_t max_frames() {
  size_t frames = 127;  // the kernel's default
  if (auto text = core::read_file("/proc/sys/kernel/perf_event_max_stack", 64))
    std::from_chars(text->data(), text->data() + text->size(), frames);
  return frames;
}

core::Result<CpuEvents> open_events(const std::string &event, int frequency, perf_event_attr attributes) {
  attributes.size = sizeof(attributes);
  attributes.freq = 1;
  attributes.sample_freq = static_cast<uint64_t>(frequency);
  attributes.exclude_idle = 1;
  attributes.disabled = 1;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  // Each sample is the same amount of time. Samples of cycles are not: on a mostly idle CPU the kernel lowers the number of cycles
  // per sample to keep the frequency.
  if (event != "cycles") {
    auto clock = open_on_all("cpu-clock", attributes);
    if (clock || event == "cpu-clock") return clock;
  }
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  return open_on_all("cycles", attributes);
}

}  // namespace atalaya::perf
