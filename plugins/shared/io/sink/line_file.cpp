// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/sink/line_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/base/files.h"

namespace atalaya::io {
namespace {

using core::error_text;

// Maximum bytes to search for a line end; a file without one there was not written by this sink.
constexpr uint64_t kMaxLine = uint64_t{16} << 20;
constexpr mode_t kMode = 0640;  // names of processes and users are not public

std::string open_error(const std::string &path, int error) {
  switch (error) {
    case ENOENT:
      return path + ": the folder " + core::folder_of(path) + " does not exist; create it or change path";
    case EACCES:
    case EPERM:
      return path + ": " + error_text(error) + "; the user that runs the agent must be able to write it";
    case EISDIR:
      return path + ": is a folder; path must name a file";
    case EROFS:
      return path + ": " + error_text(error) + "; choose a path on a writable file system";
    default:
      return path + ": " + error_text(error);
  }
}

bool passing(int error) {
  return error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO ||
         error == EINTR;
}

}  // namespace

LineFile::LineFile(FileOptions options, Notice notice) : options_(std::move(options)), notice_(std::move(notice)) {}

void LineFile::open() {
  if (const auto problem = try_open()) throw Failure(problem->code, problem->text);
}

void LineFile::must_open() {
  if (const auto problem = try_open()) throw Failure(Code::retry, problem->text);
}

std::optional<LineFile::Problem> LineFile::try_open() {
  file_.reset();
  torn_at_.reset();
  rotation_failed_ = false;
  const std::string &path = options_.path;
  // NONBLOCK: a pipe with this name must not block the agent.
  core::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kMode));
  if (!file) return Problem{passing(errno) ? Code::retry : Code::bad_config, open_error(path, errno)};
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Problem{Code::retry, path + ": " + error_text(errno)};
  if (!S_ISREG(status.st_mode))
    return Problem{Code::bad_config, path + ": is not a regular file; for a terminal use the sink stdout"};
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return Problem{Code::retry, path + ": another process writes this file; stop it or change path"};
  const bool rotates = options_.rotate_size > 0 || options_.rotate_every_ns > 0;
  if (rotates && ::faccessat(AT_FDCWD, core::folder_of(path).c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return Problem{Code::bad_config, path + ": cannot rename files in " + core::folder_of(path) + ": " + error_text(errno) +
                                         "; make it writable or leave rotation to logrotate"};
  file_ = std::move(file);
  last_write_ns_ = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
  auto problem = cut_torn_line(static_cast<uint64_t>(status.st_size));
  if (problem) file_.reset();
  return problem;
}

std::optional<LineFile::Problem> LineFile::cut_torn_line(uint64_t size) {
  std::vector<char> block(65536);
  uint64_t end = size;
  while (end > 0 && size - end < kMaxLine) {
    const uint64_t begin = end > block.size() ? end - block.size() : 0;
    const ssize_t got = ::pread(file_.get(), block.data(), end - begin, static_cast<off_t>(begin));
    if (got != static_cast<ssize_t>(end - begin))
      return Problem{Code::retry, options_.path + ": cannot be read back: " + error_text(errno)};
    const size_t newline = std::string_view(block.data(), end - begin).rfind('\n');
    if (newline != std::string_view::npos) {
      end = begin + newline + 1;
      break;
    }
    end = begin;
  }
  if (end == size) return std::nullopt;
  if (size - end >= kMaxLine)
    return Problem{Code::bad_config, options_.path + ": has no line end in its last 16 MiB: not a file of this sink; change path"};
  if (::ftruncate(file_.get(), static_cast<off_t>(end)) != 0)
    return Problem{Code::retry, options_.path + ": cannot cut a torn last line: " + error_text(errno)};
  notice_(options_.path + ": cut " + std::to_string(size - end) + " bytes of a torn last line of a killed process");
  return std::nullopt;
}

uint64_t LineFile::size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw Failure(Code::retry, options_.path + ": " + error_text(errno));
  return static_cast<uint64_t>(status.st_size);
}

bool LineFile::was_moved() const {
  struct stat there {};
  struct stat ours {};
  if (::stat(options_.path.c_str(), &there) != 0) return errno == ENOENT;
  return ::fstat(file_.get(), &ours) == 0 && (there.st_dev != ours.st_dev || there.st_ino != ours.st_ino);
}

bool LineFile::rotation_due(uint64_t size, uint64_t more, int64_t now_ns) const {
  if (size == 0 || rotation_failed_) return false;
  if (options_.rotate_size > 0 && size + more > static_cast<uint64_t>(options_.rotate_size)) return true;
  const int64_t every = options_.rotate_every_ns;
  return every > 0 && now_ns / every > last_write_ns_ / every;
}

bool LineFile::rotate() {
  const std::string &path = options_.path;
  const auto rotated = [&](int64_t n) { return path + "." + std::to_string(n); };
  bool moved = true;
  for (int64_t n = options_.keep - 1; n >= 1 && moved; --n) {
    moved = ::rename(rotated(n).c_str(), rotated(n + 1).c_str()) == 0 || errno == ENOENT;
  }
  if (moved && ::rename(path.c_str(), rotated(1).c_str()) == 0) return true;
  notice_(path + ": cannot rotate: " + error_text(errno) + "; the file grows until the agent is restarted");
  rotation_failed_ = true;
  return false;
}

// Opens or rotates if necessary. Returns the size of the file.
uint64_t LineFile::ready(std::string_view lines, int64_t now_ns) {
  if (!file_) {
    must_open();
  } else if (was_moved()) {
    must_open();
    notice_(options_.path + ": was moved; a new file was created");
  }
  if (torn_at_) undo(*torn_at_);
  const uint64_t before = size();
  if (!rotation_due(before, lines.size(), now_ns) || !rotate()) return before;
  must_open();
  return size();
}

void LineFile::append(std::string_view lines, int64_t now_ns) {
  const uint64_t before = ready(lines, now_ns);
  int error = before == 0 ? core::write_all(file_.get(), options_.header) : 0;
  if (error == 0) error = core::write_all(file_.get(), lines);
  if (error == 0 && options_.sync && ::fdatasync(file_.get()) != 0) error = errno;
  if (error != 0) {
    undo(before);
    throw Failure(Code::retry, options_.path + ": " + error_text(error) + "; nothing was written, the batch will be retried");
  }
  last_write_ns_ = now_ns;
}

void LineFile::undo(uint64_t size) {
  torn_at_ = size;
  if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    throw Failure(Code::retry, options_.path + ": cannot undo a partly written batch: " + error_text(errno));
  torn_at_.reset();
}

}  // namespace atalaya::io
