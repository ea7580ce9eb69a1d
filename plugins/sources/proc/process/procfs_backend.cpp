// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/procfs_backend.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace atalaya::proc {
namespace {

constexpr int kGather_ms = 1000;
// A process that still looks alive after its end was reported is one of the last to end.
constexpr size_t kRecentExits = 256;

ReaderOptions reader_options(Host host, const std::string &root) {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return {.root = root, .ticks_per_second = ticks > 0 ? static_cast<uint64_t>(ticks) : 100, .clock = [host] {
            return host.monotonic();
          }};
}

// In a container or sandbox even root may be refused.
std::string denied_io_text(int32_t first_pid) {
  if (::geteuid() != 0)
    return "cannot read /proc/PID/io of other users: proc.disk.* and proc.io.* are absent for their processes; run as root or "
           "grant CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH";
  return "the kernel refuses /proc/PID/io of some processes even to root, the first is process " + std::to_string(first_pid) +
         ": proc.disk.* and proc.io.* are absent for them; grant CAP_SYS_PTRACE if you need them";
}

}  // namespace

ProcfsBackend::ProcfsBackend(Host host, const std::string &root, bool exits) : host_(host), reader_(reader_options(host, root)) {
  if (const int error = reader_.open(); error != 0)
    throw Failure(Code::unsupported, "cannot open the folder proc in " + root + ": " + core::error_text(error) +
                                         "; mount procfs there or change the parameter root");
  if (exits && root == "/") listen();
}

void ProcfsBackend::listen() {
  listener_.emplace(TaskstatsSettings{});
  const core::Status listening = listener_->start();
  if (listening) return;
  listener_.reset();
  host_.log(Level::info,
            "processes that end within a window have no samples, their CPU time is in unattributed: " + listening.error());
}

void ProcfsBackend::follow_exits(const ProcessModel &model, OnExit take) {
  const auto lock = lock_exits();
  model_ = &model;
  on_exit_ = std::move(take);
  if (!listener_ || thread_.joinable()) return;
  stop_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!stop_) return;  // without the thread, only passes drain the buffer
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "proc ends");
}

ProcfsBackend::~ProcfsBackend() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

// The first record wakes the thread, which then waits a second and reads all records of that time.
void ProcfsBackend::run() {
  std::array<pollfd, 2> waits{{{stop_.get(), POLLIN, 0}, {listener_->socket(), POLLIN, 0}}};
  for (;;) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // a signal
    if (waits[0].revents != 0 || ::poll(waits.data(), 1, kGather_ms) > 0) return;
    const std::lock_guard lock(mutex_);
    drain_exits();
  }
}

void ProcfsBackend::report_exits() {
  if (!listener_ || !on_exit_) return;
  drain_exits();
  listener_->begin_pass();
}

void ProcfsBackend::drain_exits() {
  const auto name_of = [this](int32_t pid) {
    const procfs::ProcessReading *known = model_->last_reading(pid);
    return known == nullptr ? procfs::Name() : known->name;
  };
  listener_->drain(name_of, [this](const ExitReading &exit) {
    // Replaces the start time, which the listener knows to half a second only, by that of the model.
    ExitReading same = exit;
    model_->for_each_reading(exit.last.pid, [&](const procfs::ProcessReading &known) {
      if (matches(known.start_ns, exit, listener_->suspended_ns())) same.last.start_ns = known.start_ns;
    });
    on_exit_(same);
    if (recent_exits_.size() == kRecentExits) recent_exits_.erase(recent_exits_.begin(), recent_exits_.begin() + kRecentExits / 2);
    recent_exits_.push_back(same);
  });
}

bool ProcfsBackend::is_reported(const procfs::ProcessReading &reading) const {
  return std::any_of(recent_exits_.begin(), recent_exits_.end(), [&](const ExitReading &exit) {
    return exit.last.pid == reading.pid && matches(reading.start_ns, exit, listener_->suspended_ns());
  });
}

std::optional<uint64_t> ProcfsBackend::lost_exits() const {
  if (!listener_) return std::nullopt;
  return listener_->errors().lost + listener_->errors().malformed;
}

std::optional<uint64_t> ProcfsBackend::uptime() {
  uint64_t ns = 0;
  return reader_.uptime(ns) ? std::optional(ns) : std::nullopt;
}

void ProcfsBackend::read(ProcessModel &model) {
  // taskstats sends the end of a process before it becomes a zombie, in which it may be interrupted. The first thread alone becomes
  // one while others run.
  const auto is_ended = [this](const procfs::ProcessReading &reading) {
    const auto has = [&](procfs::Gauge gauge, uint64_t value) {
      return reading.gauges.has(gauge) && reading.gauges.get(gauge) == value;
    };
    return listener_ && ((has(procfs::Gauge::state, 'Z') && has(procfs::Gauge::threads, 1)) || is_reported(reading));
  };
  reader_.read([&](const procfs::ProcessReading &reading) {
    if (!is_ended(reading)) return model.update(reading);
    procfs::ProcessReading ended = reading;
    ended.ended = true;
    model.update(ended);
  });
  recent_exits_.clear();
  log_errors();
}

void ProcfsBackend::log_errors() {
  const auto log_once = [this](bool &logged, uint64_t count, std::string_view text) {
    if (count == 0 || logged) return;
    logged = true;
    host_.log(Level::warning, text);
  };
  const ProcessReader::Errors &errors = reader_.errors();
  if (errors.denied_io > 0 && !denied_io_logged_)
    log_once(denied_io_logged_, errors.denied_io, denied_io_text(errors.denied_io_pid));
  constexpr std::string_view kNoSamples = "cannot read /proc/PID/stat of some processes: they have no samples; run as root";
  log_once(denied_logged_, errors.denied, ::geteuid() == 0 ? kNoSamples.substr(0, kNoSamples.rfind(';')) : kNoSamples);
  log_once(malformed_logged_, errors.malformed,
           "/proc/PID/stat of some processes does not have the format of proc(5): they have no samples; is root a recorded tree?");
}

}  // namespace atalaya::proc
