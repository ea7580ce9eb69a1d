// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace atalaya::core {

Result<SharedMemory> SharedMemory::make(const char *name, size_t size) {
  const int fd = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return Error{"shared memory: " + error_text(errno)};
  Descriptor file(fd);
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0 || ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Error{"shared memory of " + std::to_string(size) + " bytes: " + error_text(errno)};
  auto mapped = map(fd, true);
  if (mapped) mapped->file_ = std::move(file);
  return mapped;
}

Result<SharedMemory> SharedMemory::map(int fd, bool writable) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return Error{"shared memory: " + error_text(errno)};
  const auto size = static_cast<size_t>(facts.st_size);
  void *data = ::mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) return Error{"shared memory of " + std::to_string(size) + " bytes: " + error_text(errno)};
  // A forked process of a plugin would also answer the host: the mapping is not inherited, so that it crashes instead.
  ::madvise(data, size, MADV_DONTFORK);
  SharedMemory memory;
  memory.data_ = static_cast<std::byte *>(data);
  memory.size_ = size;
  return memory;
}

SharedMemory &SharedMemory::operator=(SharedMemory &&other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void SharedMemory::free_beyond(size_t bytes) const {
  static constexpr size_t kPage = 4096;
  const size_t from = (bytes + kPage - 1) / kPage * kPage;
  if (from < size_)
    ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                static_cast<off_t>(size_ - from));
}

void futex_wait(const std::atomic<uint32_t> &word, uint32_t value, int64_t until_ns) {
  const timespec until{until_ns / 1'000'000'000, until_ns % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, value, until_ns == INT64_MAX ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace atalaya::core
