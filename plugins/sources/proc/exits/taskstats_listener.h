// SPDX-License-Identifier: Apache-2.0
// Receives process ends from the kernel's taskstats interface, for hosts without BPF. Its records have no cgroup, and up to a tick
// of CPU time per thread is missing, because the kernel sends a record before it adds the last usage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/sources/proc/exits/exit_reading.h"
#include "plugins/sources/proc/exits/taskstats_processes.h"

namespace atalaya::proc {

struct TaskstatsSettings {
  // Buffer for records between passes; the kernel uses 1 to 2 KiB per ended thread.
  int receive_buffer_bytes = 16 << 20;
  size_t max_processes = 2048;  // running processes whose ended threads are summed
};

class TaskstatsListener {
 public:
  using NameOf = std::function<procfs::Name(int32_t pid)>;  // empty for an unknown process
  using Callback = std::function<void(const ExitReading &)>;

  // Numbers of thread records since the start.
  struct Errors {
    uint64_t lost = 0;  // records that were lost because the buffer was full
    uint64_t malformed = 0;
  };

  explicit TaskstatsListener(const TaskstatsSettings &settings) : settings_(settings), sums_(settings.max_processes) {}
  TaskstatsListener(const TaskstatsListener &) = delete;
  TaskstatsListener &operator=(const TaskstatsListener &) = delete;
  ~TaskstatsListener() { stop(); }

  // The error states why taskstats is unavailable on this host and how to enable it.
  core::Status start();
  void stop();
  // Calls `take` for each process that ended since the start or the last drain. Does not block; also called between passes.
  // `name_of` resolves the names of parents, and of processes whose own record was lost.
  void drain(const NameOf &name_of, const Callback &take);
  // Marks the start of a pass. A process that may have started before or after the last pass is assumed to have started after it;
  // if that is wrong, `matches` finds it by its last reading.
  void begin_pass() { pass_ns_ = drained_ns_; }
  int socket() const { return socket_.get(); }

  const Errors &errors() const { return errors_; }
  // Time that the host was suspended since boot: start times include it, the elapsed times of taskstats do not.
  uint64_t suspended_ns() const { return suspended_ns_; }

 private:
  struct Ended {
    ExitReading reading;
    int32_t parent = 0;
    bool named = false;
  };
  using OnMessage = std::function<void(const NetlinkMessage &)>;

  core::Status open_socket();
  core::Status find_family();
  core::Status check_version();
  core::Status listen();
  core::Status check_arrival();
  int request(uint16_t type, uint8_t command, uint16_t attribute, Bytes value, const OnMessage &take);
  bool receive(const OnMessage &take);
  void count_lost();
  void start_drain();
  uint64_t start_of(const ProcessEnd &end) const;
  void add_names(const NameOf &name_of);
  procfs::Name name_of_ended(int32_t pid) const;

  TaskstatsSettings settings_;
  core::Descriptor socket_;
  std::string cpus_;  // list of the CPUs whose records the kernel sends to the socket
  uint16_t family_ = 0;
  uint32_t sequence_ = 0;
  uint32_t drops_ = 0;
  Errors errors_;
  ThreadSums sums_;
  std::vector<std::byte> buffer_;
  std::vector<Ended> ended_;                          // processes that ended in this drain
  std::vector<std::pair<int32_t, uint32_t>> by_pid_;  // pids and indexes of ended_, sorted
  int64_t drained_ns_ = 0, previous_drain_ns_ = 0;    // CLOCK_BOOTTIME
  int64_t pass_ns_ = 0;                               // time of the last drain before which a pass started
  int64_t boot_ns_ = 0;                               // Unix time of the boot, computed in this drain
  uint64_t suspended_ns_ = 0;
};

// Whether `exit` can be the end of the process with its pid that started at `start_ns`. The comparison has a tolerance, because
// taskstats rounds the end time to a second and reports a lifetime without the time of suspension.
bool matches(uint64_t start_ns, const ExitReading &exit, uint64_t suspended_ns);

}  // namespace atalaya::proc
