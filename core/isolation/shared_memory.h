// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// Memory that two processes map (memfd_create(2)). Its size is sealed, so that neither process can remove pages that the other
// uses. Unused pages occupy no memory.
class SharedMemory {
 public:
  static Result<SharedMemory> make(const char *name, size_t size);
  static Result<SharedMemory> map(int fd, bool writable);
  SharedMemory() = default;
  SharedMemory(SharedMemory &&other) noexcept
      : file_(std::move(other.file_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  SharedMemory &operator=(SharedMemory &&other) noexcept;
  ~SharedMemory();

  std::byte *data() const { return data_; }
  size_t size() const { return size_; }
  int fd() const { return file_.get(); }
  // Frees the pages after the first `bytes` bytes; they then read as zeros.
  void free_beyond(size_t bytes) const;

 private:
  Descriptor file_;
  std::byte *data_ = nullptr;
  size_t size_ = 0;
};

// Waits while `word` has the value, until a wake or a time (CLOCK_MONOTONIC; INT64_MAX: no limit). May return early (futex(2)).
void futex_wait(const std::atomic<uint32_t> &word, uint32_t value, int64_t until_ns);
void futex_wake(const std::atomic<uint32_t> &word);

}  // namespace atalaya::core
