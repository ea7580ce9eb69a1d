// SPDX-License-Identifier: Apache-2.0
// Reads every process below /proc: one pass over the folder, a few files of each process, each once.
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
  size_t max_kept_files = 0;       // descriptors that may stay open between passes
  std::function<int64_t()> clock;  // monotonic ns
};

// Half of the descriptors that the program may open: the others are for sinks and stores.
size_t default_kept_files();

class ProcessReader {
 public:
  using Take = std::function<void(const procfs::ProcessReading &)>;

  // Errors since the start. Processes that end during a pass do not count.
  struct Errors {
    uint64_t denied_io = 0;     // processes with denied access to io
    int32_t denied_io_pid = 0;  // the first of them
    uint64_t denied = 0;        // denied reads of other files
    uint64_t malformed = 0;     // stat files that cannot be parsed
  };

  explicit ProcessReader(ReaderOptions options) : options_(std::move(options)) {}

  // The error number, 0 when the folder is open.
  int open();
  // Reads all processes once and passes each to `take`.
  void read(const Take &take);
  // Since boot, in the clock of the processes' start times; false when unknown.
  bool uptime(uint64_t &ns);

  const Errors &errors() const { return errors_; }
  size_t kept_files() const { return kept_files_; }

 private:
  enum File : size_t { kStat, kSchedstat, kIo, kThreadIo, kStatus, kFiles };
  // State of a process between passes.
  struct Kept {
    std::array<core::Descriptor, kFiles> files;
    procfs::ProcessReading reading;
    procfs::StatMark mark;
    uint64_t ran_ns = 0;  // by its only thread; 0: unknown
    uint64_t pass = 0;
    bool threaded = false;              // it had several threads in a reading
    bool io_is_of_main_thread = false;  // the last reading of I/O was that of the main thread
    uint64_t io_reaped = 0;             // and included the children of this mark
    uint32_t io_bases = 0;              // with an unknown beginning
    bool denied_io = false;             // tried once: permission does not change while the process lives
  };

  void list_processes();
  // False when it has ended or cannot be read.
  bool read_process(int32_t pid, Kept &kept);
  bool read_stat(int32_t pid, Kept &kept);
  // True when only the contents of stat can have changed since the last reading.
  bool has_not_run(int32_t pid, Kept &kept, const procfs::StatMark &mark_before);
  // False when it has ended.
  bool read_io(int32_t pid, Kept &kept);
  bool take_io(int32_t pid, Kept &kept, File file);
  static void set_io_basis(Kept &kept, bool of_thread);
  procfs::FileText read_file(int32_t pid, Kept &kept, File file);
  void close(Kept &kept);
  void forget_ended();

  ReaderOptions options_;
  core::Descriptor folder_;
  core::Descriptor uptime_;
  std::unordered_map<int32_t, Kept> kept_;
  std::vector<int32_t> pids_;
  size_t kept_files_ = 0;
  size_t seen_ = 0;  // processes read in this pass
  uint64_t pass_ = 0;
  Errors errors_;
  std::array<char, 16384> buffer_{};
};

}  // namespace atalaya::proc
