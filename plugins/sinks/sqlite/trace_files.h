// SPDX-License-Identifier: Apache-2.0
// Recordings as files for Perfetto, in one folder of bounded size. A thread writes them: the sink never waits for it.
#pragma once

#include <atalaya/plugin.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::sqlite_sink {

struct TraceLimits {
  std::string folder;
  size_t files = 20;
  uint64_t bytes = uint64_t{1} << 30;
};

// The time of a recording, or of recordings that overlap: those of several recorders, or of triggers that follow each other.
struct RecordedTime {
  int64_t from_ns = 0, until_ns = 0;

  bool overlaps(const RecordedTime &other) const { return from_ns < other.until_ns && other.from_ns < until_ns; }
};

// Of a span. None: no recorder has written it, as of an instant, of days, or of a time before 1970.
std::optional<RecordedTime> recorded_time(int64_t start_ns, int64_t duration_ns);

class TraceFiles {
 public:
  // Writes the trace of this time into the open file, until `stop` becomes readable.
  using Write = std::function<core::Status(const RecordedTime &time, int file, int stop)>;
  using Log = std::function<void(Level level, const std::string &text)>;

  // `settle_ns`: time after a recording until it is written, because other recorders complete theirs then. Throws Failure.
  TraceFiles(TraceLimits limits, int64_t settle_ns, Write write, Log log);
  ~TraceFiles();
  TraceFiles(const TraceFiles &) = delete;
  TraceFiles &operator=(const TraceFiles &) = delete;

  // A complete recording, which is in the store. One that overlaps an earlier one replaces its file.
  void add(const RecordedTime &recording);

 private:
  struct One {
    RecordedTime time;
    std::string name;  // of its file
    int64_t due_ns = 0;
    bool is_written = false;
  };

  void run();
  std::optional<One> remember(const RecordedTime &recording);
  std::optional<One> forget_one();
  One *next_due();
  void report(const One &one, const core::Status &written);  // without the lock
  core::Status write(const One &one) const;
  core::Status write_new(const One &one, const std::string &path) const;
  core::Status make_room(const std::string &name, uint64_t bytes) const;

  const TraceLimits limits_;
  const int64_t settle_ns_;
  const Write write_;
  const Log log_;
  core::Descriptor stop_read_, stop_write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<One> all_;  // the last ones
  bool stopping_ = false;
  std::atomic<uint64_t> failed_ = 0;
  std::thread thread_;
};

// An error of the writer's process. If that was ended, instead of failing with a message of its own: also what to do.
std::string with_advice(const std::string &error, int64_t limit_ns);

// "recording-2026-11-26T10-31-00.250Z.json": the order of names is that of time.
std::string trace_file_name(int64_t from_ns);
bool is_trace_file_name(std::string_view name);

}  // namespace atalaya::sqlite_sink
