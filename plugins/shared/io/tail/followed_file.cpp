// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/followed_file.h"

#include <sys/stat.h>

namespace atalaya::tail {
namespace {

FileStatus file_status(const struct stat &status) {
  return {.id = {status.st_dev, status.st_ino},
          .size = status.st_size,
          .written_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
          .regular = S_ISREG(status.st_mode)};
}

}  // namespace

std::optional<FileStatus> status_of(const std::string &path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return file_status(status);
}

std::optional<FileStatus> status_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return file_status(status);
}

void place(File &file, int64_t offset) {
  file.at.offset = file.segment = file.read_to = offset;
  if (!file.fd) return;
  file.at.head = head_of(file.fd.get(), offset);
  file.at.tail = tail_of(file.fd.get(), offset);
}

bool written_before(int64_t written_a, const Found &a, int64_t written_b, const Found &b) {
  return written_a != written_b ? written_a < written_b : older_name(a, b);
}

}  // namespace atalaya::tail
