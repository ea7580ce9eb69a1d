// SPDX-License-Identifier: Apache-2.0
// Reads all processes below /proc: a pass lists the folder and reads a few files of each process once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/shared/host/procfs/process_parse.h"
#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::proc {

struct ReaderOptions {
  std::string root = "/";
  uint64_t ticks_per_second = 100;
  std::function<int64_t()> clock;  // returns the monotonic time in ns
};

class ProcessReader {
 public:
  using Callback = std::function<void(const procfs::ProcessReading &)>;

  // Errors since the start. Processes that end during a pass do not count.
  struct Errors {
    uint64_t denied_io = 0;     // processes whose file io cannot be read for lack of permission
    int32_t denied_io_pid = 0;  // the first of these processes
    uint64_t denied = 0;        // denied reads of other files
    uint64_t malformed = 0;     // stat files that cannot be parsed
  };

  explicit ProcessReader(ReaderOptions options) : options_(std::move(options)) {}

  // Opens the folder; returns 0 or an error number.
  int open();
  // Reads all processes once and passes each to `take`.
  void read(const Callback &take);
  // Time since boot on the clock of process start times; false when it is unknown.
  bool uptime(uint64_t &ns);

  const Errors &errors() const { return errors_; }

 private:
  enum File : size_t { kStat, kSchedstat, kIo, kThreadIo, kStatus, kFiles };
  // State of a process between passes.
  struct ProcessState {
    std::array<core::Descriptor, kFiles> files;
    procfs::ProcessReading reading;
    procfs::StatMark mark;
    uint64_t ran_ns = 0;  // CPU time of its only thread; 0: unknown
    uint64_t pass = 0;
    bool threaded = false;             // it had several threads in a reading
    bool io_from_main_thread = false;  // the last I/O reading was of the main thread, not of the process
    uint64_t io_reaped = 0;            // StatMark::reaped at that reading, which includes the I/O of the children reaped before
    uint32_t io_bases = 0;             // number of I/O bases with an unknown start value (see ProcessReading::io_basis)
    bool denied_io = false;            // no further attempts: permission does not change while the process lives
  };

  void list_processes();
  // False when the process has ended or cannot be read.
  bool read_process(int32_t pid, ProcessState &state);
  bool read_stat(int32_t pid, ProcessState &state);
  // Whether the process has not run since the last reading, so that its other files have not changed.
  bool has_not_run(int32_t pid, ProcessState &state, const procfs::StatMark &mark_before);
  // False when the process has ended.
  bool read_io(int32_t pid, ProcessState &state);
  bool read_io_file(int32_t pid, ProcessState &state, File file);
  static void set_io_basis(ProcessState &state, bool of_thread);
  procfs::FileText read_file(int32_t pid, ProcessState &state, File file);
  void close(ProcessState &state);
  void forget_ended();

  ReaderOptions options_;
  core::Descriptor folder_;
  core::Descriptor uptime_;
  std::unordered_map<int32_t, ProcessState> states_;
  std::vector<int32_t> pids_;
  size_t seen_ = 0;  // processes read in this pass
  uint64_t pass_ = 0;
  Errors errors_;
  std::array<char, 16384> buffer_{};
};

}  // namespace atalaya::proc
