// SPDX-License-Identifier: Apache-2.0
// Writes recordings as trace files for Perfetto to a folder with a maximum size, on a separate thread, so that the sink never
// waits.
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

// The range of a recording, or of several overlapping recordings: those of several recorders or of successive triggers.
struct RecordedTime {
  int64_t from_ns = 0, until_ns = 0;

  bool overlaps(const RecordedTime &other) const { return from_ns < other.until_ns && other.from_ns < until_ns; }
};

// The range of a span `recording`. Nothing if it is not plausible: no duration, a duration of days, or a start before 1970.
std::optional<RecordedTime> recorded_time(int64_t start_ns, int64_t duration_ns);

class TraceFiles {
 public:
  // Writes the trace of this range to the open file; it must return when `stop` becomes readable.
  using Write = std::function<core::Status(const RecordedTime &time, int file, int stop)>;
  using Log = std::function<void(Level level, const std::string &text)>;

  // `settle_ns`: delay between the end of a recording and its file, so that other recorders can complete theirs. Throws Failure.
  TraceFiles(TraceLimits limits, int64_t settle_ns, Write write, Log log);
  ~TraceFiles();
  TraceFiles(const TraceFiles &) = delete;
  TraceFiles &operator=(const TraceFiles &) = delete;

  // Schedules the file of a complete recording, which must be in the store. If it overlaps an earlier recording, one file with both
  // replaces the earlier file.
  void add(const RecordedTime &recording);

 private:
  struct Entry {
    RecordedTime time;
    std::string name;  // file name
    int64_t due_ns = 0;
    bool is_written = false;
  };

  void run();
  std::optional<Entry> schedule(const RecordedTime &recording);
  std::optional<Entry> remove_oldest();
  Entry *next_due();
  void report(const Entry &one, const core::Status &written);  // called without the lock
  core::Status write(const Entry &one) const;
  core::Status write_new(const Entry &one, const std::string &path) const;
  core::Status make_room(const std::string &name, uint64_t bytes) const;

  const TraceLimits limits_;
  const int64_t settle_ns_;
  const Write write_;
  const Log log_;
  core::Descriptor stop_read_, stop_write_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> recordings_;  // the last recordings
  bool stopping_ = false;
  std::atomic<uint64_t> failed_ = 0;
  std::thread thread_;
};

// An error of the writer process, with advice if the process exceeded its time limit or was ended by a signal.
std::string with_advice(const std::string &error, int64_t limit_ns);

// "recording-2026-11-26T10-31-00.250Z.json": the alphabetical order of names is their order in time.
std::string trace_file_name(int64_t from_ns);
bool is_trace_file_name(std::string_view name);

}  // namespace atalaya::sqlite_sink
