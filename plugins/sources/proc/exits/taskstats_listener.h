// SPDX-License-Identifier: Apache-2.0
// Ends of processes from the kernel's taskstats interface, for hosts without BPF. It does not report the cgroup, nor the last
// CPU time (up to a tick per thread), because the kernel sends the record before adding it.
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
  size_t max_processes = 2048;  // still running, with ended threads
};

class TaskstatsListener {
 public:
  using NameOf = std::function<procfs::Name(int32_t pid)>;  // empty for an unknown process
  using Take = std::function<void(const ExitReading &)>;

  // Counts of threads, not processes, since the start.
  struct Errors {
    uint64_t lost = 0;       // records without room in the buffer
    uint64_t malformed = 0;  // malformed records
  };

  explicit TaskstatsListener(const TaskstatsSettings &settings) : settings_(settings), sums_(settings.max_processes) {}
  TaskstatsListener(const TaskstatsListener &) = delete;
  TaskstatsListener &operator=(const TaskstatsListener &) = delete;
  ~TaskstatsListener() { stop(); }

  // The error says why taskstats is unavailable on this host, and the remedy.
  core::Status start();
  void stop();
  // Passes on the processes that ended since the start or the last drain, at any time between passes too. Never waits. `name_of` is
  // called for parents, and for processes whose name was lost.
  void drain(const NameOf &name_of, const Take &take);
  // A process that may have been born after this call was: one that is older is known by its reading.
  void begin_pass() { pass_ns_ = drained_ns_; }
  int socket() const { return socket_.get(); }

  const Errors &errors() const { return errors_; }
  // The clock of start times runs while the host is suspended, that of taskstats does not: their current difference.
  uint64_t suspended_ns() const { return suspended_ns_; }

 private:
  struct Ended {
    ExitReading reading;
    int32_t parent = 0;
    bool named = false;
  };
  using TakeMessage = std::function<void(const NetlinkMessage &)>;

  core::Status open_socket();
  core::Status find_family();
  core::Status check_version();
  core::Status listen();
  core::Status check_arrival();
  int request(uint16_t type, uint8_t command, uint16_t attribute, Bytes value, const TakeMessage &take);
  bool receive(const TakeMessage &take);
  void count_lost();
  void begin_drain();
  uint64_t start_of(const ProcessEnd &end) const;
  void add_names(const NameOf &name_of);
  procfs::Name name_of_ended(int32_t pid) const;

  TaskstatsSettings settings_;
  core::Descriptor socket_;
  std::string cpus_;  // registered CPUs
  uint16_t family_ = 0;
  uint32_t sequence_ = 0;
  uint32_t drops_ = 0;
  Errors errors_;
  ThreadSums sums_;
  std::vector<std::byte> buffer_;
  std::vector<Ended> ended_;                          // in this drain
  std::vector<std::pair<int32_t, uint32_t>> by_pid_;  // of those, with the index
  int64_t drained_ns_ = 0, previous_drain_ns_ = 0;    // since boot
  int64_t pass_ns_ = 0;                               // the last drain of a pass
  int64_t boot_ns_ = 0;                               // Unix time of it, as of this drain
  uint64_t suspended_ns_ = 0;
};

// Whether this is the end of the known process of that pid and start time. taskstats reports the end time to a second, and the
// lifetime without time of suspension.
bool matches(uint64_t start_ns, const ExitReading &exit, uint64_t suspended_ns);

}  // namespace atalaya::proc
