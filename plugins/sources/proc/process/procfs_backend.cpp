// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/procfs_backend.h"

#include <unistd.h>

namespace atalaya::proc {
namespace {

ReaderOptions reader_options(Host host, const std::string &root) {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return {.root = root,
          .ticks_per_second = ticks > 0 ? static_cast<uint64_t>(ticks) : 100,
          .max_kept_files = default_kept_files(),
          .clock = [host] { return host.monotonic(); }};
}

// In a container or sandbox root is not all-powerful.
std::string denied_io_text(int32_t first_pid) {
  if (::geteuid() != 0)
    return "/proc/PID/io of other users may not be read: proc.disk.* and proc.io.* are absent for their processes; run as root or "
           "with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH";
  return "the kernel refuses /proc/PID/io of some processes to root too, the first is process " + std::to_string(first_pid) +
         ": proc.disk.* and proc.io.* are absent for them; if they are many, add CAP_SYS_PTRACE";
}

}  // namespace

ProcfsBackend::ProcfsBackend(Host host, const std::string &root, bool exits) : host_(host), reader_(reader_options(host, root)) {
  if (const int error = reader_.open(); error != 0)
    throw Failure(Code::unsupported, "cannot open the folder proc below " + root + ": " + core::error_text(error) +
                                         "; mount procfs there or change the parameter root");
  if (exits && root == "/") listen();
}

void ProcfsBackend::listen() {
  listener_.emplace(TaskstatsSettings{});
  const core::Status listening = listener_->start();
  if (listening) return;
  listener_.reset();
  host_.log(Level::info,
            "processes that end between two windows are not known, their CPU time is in unattributed: " + listening.error());
}

void ProcfsBackend::take_exits(const ProcessModel &model, const TakeExit &take) {
  if (!listener_) return;
  const auto name_of = [&model](int32_t pid) {
    const ProcessReading *known = model.last_reading(pid);
    return known == nullptr ? Name() : known->name;
  };
  listener_->drain(name_of, [&](const ExitReading &exit) {
    // The listener knows start times to half a second.
    const ProcessReading *known = model.last_reading(exit.last.pid);
    if (known == nullptr || !matches(known->start_ns, exit, listener_->suspended_ns())) return take(exit);
    ExitReading same = exit;
    same.last.start_ns = known->start_ns;
    take(same);
  });
}

std::optional<uint64_t> ProcfsBackend::uptime() {
  uint64_t ns = 0;
  return reader_.uptime(ns) ? std::optional(ns) : std::nullopt;
}

void ProcfsBackend::read(ProcessModel &model) {
  reader_.read([&model](const ProcessReading &reading) { model.update(reading); });
  report_trouble();
}

void ProcfsBackend::report_trouble() {
  const auto tell = [this](bool &told, uint64_t count, std::string_view text) {
    if (count == 0 || told) return;
    told = true;
    host_.log(Level::warning, text);
  };
  const ProcessReader::Trouble &trouble = reader_.trouble();
  if (trouble.denied_io > 0 && !told_denied_io_) tell(told_denied_io_, trouble.denied_io, denied_io_text(trouble.denied_io_pid));
  tell(told_denied_, trouble.denied, "/proc/PID/stat of some processes may not be read: they are absent; run as root");
  tell(told_malformed_, trouble.malformed,
       "/proc/PID/stat of some processes is not of the form that proc(5) describes: they are absent; is the root a recorded tree?");
}

}  // namespace atalaya::proc
