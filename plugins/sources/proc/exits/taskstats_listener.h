// SPDX-License-Identifier: Apache-2.0
// Ends of processes by the kernel's taskstats interface, for hosts without BPF. What it does not know: the cgroup, and the last
// moments on the CPU (up to a tick of each thread), as the kernel sends the record before it adds them.
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
  // Records wait here from one pass to the next; the kernel counts 1 to 2 KiB for each thread that ends.
  int receive_buffer_bytes = 16 << 20;
  size_t max_processes = 2048;  // that have lost threads and go on
};

class TaskstatsListener {
 public:
  using NameOf = std::function<Name(int32_t pid)>;  // empty for a process that is not known
  using Take = std::function<void(const ExitReading &)>;

  // Since the start. Threads, not processes.
  struct Trouble {
    uint64_t lost = 0;       // there was no room for their records
    uint64_t malformed = 0;  // records that are none
  };

  explicit TaskstatsListener(const TaskstatsSettings &settings) : settings_(settings), sums_(settings.max_processes) {}
  TaskstatsListener(const TaskstatsListener &) = delete;
  TaskstatsListener &operator=(const TaskstatsListener &) = delete;
  ~TaskstatsListener() { stop(); }

  // An error says why this host does not offer it and what to do.
  core::Status start();
  void stop();
  // Hands on the processes that have ended since the start or the last drain. Never waits. `name_of` is asked for parents, and for
  // processes whose own name was lost.
  void drain(const NameOf &name_of, const Take &take);

  const Trouble &trouble() const { return trouble_; }
  // The clock of start times runs while the host is suspended, the one of taskstats does not: by how much they differ now.
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
  Name name_of_ended(int32_t pid) const;

  TaskstatsSettings settings_;
  core::Descriptor socket_;
  std::string cpus_;  // that it is registered on
  uint16_t family_ = 0;
  uint32_t sequence_ = 0;
  uint32_t drops_ = 0;
  Trouble trouble_;
  ThreadSums sums_;
  std::vector<std::byte> buffer_;
  std::vector<Ended> ended_;                          // in this drain
  std::vector<std::pair<int32_t, uint32_t>> by_pid_;  // of those, with the index
  int64_t drained_ns_ = 0, previous_drain_ns_ = 0;    // since boot
  int64_t boot_ns_ = 0;                               // Unix time of it, as of this drain
  uint64_t suspended_ns_ = 0;
};

// Whether this is the end of the process of that pid that is known to have started then. taskstats tells when a process ended to a
// second, and how long it lived without the time that the host was suspended.
bool matches(uint64_t start_ns, const ExitReading &exit, uint64_t suspended_ns);

}  // namespace atalaya::proc
