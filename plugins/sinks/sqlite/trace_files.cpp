// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/sqlite/trace_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/now.h"
#include "core/base/own_command.h"

namespace atalaya::sqlite_sink {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNew = ".new";  // suffix of an incomplete file
constexpr std::string_view kBegin = "recording-", kEnd = ".json", kPattern = "dddd-dd-ddTdd-dd-dd.dddZ";
constexpr mode_t kMode = 0640;
constexpr size_t kRemembered = 16;
// Maximum length of combined recordings: otherwise continuous triggers would produce one endless file.
constexpr int64_t kLongest = int64_t{15} * 60 * 1'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLongestRecording = 24 * 3600 * kSecond;  // much more than the limits of `keep` and `longest` of a recorder

RecordedTime joined(const RecordedTime &a, const RecordedTime &b) {
  return {std::min(a.from_ns, b.from_ns), std::max(a.until_ns, b.until_ns)};
}

core::Error cannot(const std::string &action, const std::string &path) {
  return {"cannot " + action + " " + path + ": " + core::error_text(errno)};
}

struct Known {
  fs::path path;
  uint64_t bytes = 0;
};

// Lists the files of recordings, the oldest first.
std::vector<Known> files_in(const std::string &folder) {
  std::vector<Known> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!is_trace_file_name(at->path().filename().string())) continue;
    std::error_code unknown;
    const uint64_t bytes = at->file_size(unknown);
    files.push_back({at->path(), unknown ? 0 : bytes});
  }
  std::sort(files.begin(), files.end(), [](const Known &a, const Known &b) { return a.path < b.path; });
  return files;
}

// Removes incomplete files of a killed agent.
void remove_unfinished(const std::string &folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename();
    if (!name.ends_with(kNew)) continue;
    name.resize(name.size() - kNew.size());
    if (is_trace_file_name(name)) ::unlink(at->path().c_str());
  }
}

}  // namespace

std::string with_advice(const std::string &error, int64_t limit_ns) {
  if (error == core::kTooLong) return error + " (limit: " + std::to_string(limit_ns / kSecond) + " s); shorten the recordings";
  if (error.starts_with(core::kEndedBySignal))
    return error + "; if its memory was too much, raise MemoryMax of the unit, or shorten the recordings";
  return error;
}

std::string trace_file_name(int64_t from_ns) {
  const std::time_t seconds = from_ns / kSecond;
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H-%M-%S", &time);
  std::array<char, 8> thousandths{};
  std::snprintf(thousandths.data(), thousandths.size(), ".%03dZ", static_cast<int>(from_ns / 1'000'000 % 1000));
  return std::string(kBegin) + text.data() + thousandths.data() + std::string(kEnd);
}

bool is_trace_file_name(std::string_view name) {
  if (name.size() != kBegin.size() + kPattern.size() + kEnd.size() || !name.starts_with(kBegin) || !name.ends_with(kEnd))
    return false;
  const std::string_view time = name.substr(kBegin.size(), kPattern.size());
  return std::equal(time.begin(), time.end(), kPattern.begin(),
                    [](char c, char wanted) { return wanted == 'd' ? c >= '0' && c <= '9' : c == wanted; });
}

std::optional<RecordedTime> recorded_time(int64_t start_ns, int64_t duration_ns) {
  int64_t until_ns = 0;
  if (start_ns < 0 || duration_ns <= 0 || duration_ns > kLongestRecording) return std::nullopt;
  if (__builtin_add_overflow(start_ns, duration_ns, &until_ns)) return std::nullopt;
  return RecordedTime{start_ns, until_ns};
}

TraceFiles::TraceFiles(TraceLimits limits, int64_t settle_ns, Write write, Log log)
    : limits_(std::move(limits)), settle_ns_(settle_ns), write_(std::move(write)), log_(std::move(log)) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Failure(Code::retry, "pipe: " + core::error_text(errno));
  stop_read_ = core::Descriptor(ends[0]);
  stop_write_ = core::Descriptor(ends[1]);
  if (const core::Status made = core::make_folders(limits_.folder); !made)
    log_(Level::warning, made.error() + "; recordings have no files, until this folder can be made");
  remove_unfinished(limits_.folder);
  thread_ = std::thread([this] { run(); });
}

TraceFiles::~TraceFiles() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  stop_write_.reset();
  thread_.join();
}

void TraceFiles::add(const RecordedTime &recording) {
  if (const auto removed = schedule(recording))
    report(*removed, core::Error{std::to_string(kRemembered) + " others wait; record less often, or shorten the recordings"});
}

// Adds the recording. Returns a recording without a file that was removed because the list was full.
std::optional<TraceFiles::Entry> TraceFiles::schedule(const RecordedTime &recording) {
  const std::lock_guard lock(mutex_);
  const auto same = std::find_if(recordings_.begin(), recordings_.end(), [&](const Entry &one) {
    const RecordedTime both = joined(one.time, recording);
    return one.time.overlaps(recording) && both.until_ns - both.from_ns <= kLongest;
  });
  std::optional<Entry> removed;
  const int64_t due_ns = core::monotonic() + settle_ns_;
  if (same != recordings_.end()) {
    *same = {joined(same->time, recording), same->name, due_ns, false};
  } else {
    if (recordings_.size() == kRemembered) removed = remove_oldest();
    recordings_.push_back({recording, trace_file_name(recording.from_ns), due_ns, false});
  }
  wake_.notify_all();
  return removed;
}

// Removes the oldest recording with a file. If none has a file, removes and returns the oldest one.
std::optional<TraceFiles::Entry> TraceFiles::remove_oldest() {
  const auto written = std::find_if(recordings_.begin(), recordings_.end(), [](const Entry &one) { return one.is_written; });
  std::optional<Entry> removed;
  if (written == recordings_.end()) removed = recordings_.front();
  recordings_.erase(written == recordings_.end() ? recordings_.begin() : written);
  return removed;
}

// The recording that is due first; null if there is none.
TraceFiles::Entry *TraceFiles::next_due() {
  Entry *next = nullptr;
  for (Entry &one : recordings_)
    if (!one.is_written && (next == nullptr || one.due_ns < next->due_ns)) next = &one;
  return next;
}

void TraceFiles::run() {
  pthread_setname_np(pthread_self(), "traces");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Entry *const next = next_due();
    if (next == nullptr) {
      wake_.wait(lock);
      continue;
    }
    if (next->due_ns > core::monotonic()) {
      wake_.wait_until(lock, core::at(next->due_ns));
      continue;
    }
    next->is_written = true;  // an overlapping recording that is added during the write resets this
    const Entry one = *next;
    lock.unlock();
    report(one, write(one));
    lock.lock();
  }
}

void TraceFiles::report(const Entry &one, const core::Status &written) {
  if (written) return log_(Level::info, "recording: " + limits_.folder + "/" + one.name);
  const uint64_t failed = ++failed_;
  log_(Level::warning, "no file " + one.name + " of a recording: " + written.error() + "; " + std::to_string(failed) +
                           " without a file since the start. The recording is in the store: atalaya trace --recording writes it");
}

core::Status TraceFiles::write(const Entry &one) const {
  if (core::Status made = core::make_folders(limits_.folder); !made) return made;
  const std::string path = limits_.folder + "/" + one.name, new_path = path + std::string(kNew);
  core::Status written = write_new(one, new_path);
  if (written && ::rename(new_path.c_str(), path.c_str()) != 0) written = cannot("rename", new_path);
  if (!written) ::unlink(new_path.c_str());
  return written;
}

core::Status TraceFiles::write_new(const Entry &one, const std::string &path) const {
  const core::Descriptor file(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!file) return cannot("create", path);
  // The group may read the file, independent of the agent's umask.
  if (::fchmod(file.get(), kMode) != 0) return cannot("set the mode of", path);
  if (core::Status written = write_(one.time, file.get(), stop_read_.get()); !written) return written;
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return cannot("read the size of", path);
  if (::fsync(file.get()) != 0) return cannot("write", path);
  return make_room(one.name, static_cast<uint64_t>(info.st_size));
}

// Removes the oldest files until one more of this size fits the limits.
core::Status TraceFiles::make_room(const std::string &name, uint64_t bytes) const {
  if (bytes > limits_.bytes)
    return core::Error{"it has " + std::to_string(bytes) + " bytes; raise traces.max_size, or shorten the recordings"};
  std::vector<Known> files = files_in(limits_.folder);
  std::erase_if(files, [&](const Known &one) { return one.path.filename() == name; });
  uint64_t all = bytes;
  for (const Known &one : files) all += one.bytes;
  for (size_t i = 0; i < files.size() && (files.size() - i + 1 > limits_.files || all > limits_.bytes); ++i) {
    if (::unlink(files[i].path.c_str()) != 0 && errno != ENOENT) return cannot("remove", files[i].path.string());
    all -= files[i].bytes;
  }
  return core::Done{};
}

}  // namespace atalaya::sqlite_sink
