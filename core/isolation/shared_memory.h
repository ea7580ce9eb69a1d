// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// Memory that two processes map. Its size is sealed, so that neither can take pages away under the other; pages that nobody touched
// cost nothing.
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
  // Gives the pages beyond that many bytes back to the system; they read as zeros.
  void give_back_beyond(size_t bytes) const;

 private:
  Descriptor file_;
  std::byte *data_ = nullptr;
  size_t size_ = 0;
};

// Sleeps while the word has the value, until a wake or the time (CLOCK_MONOTONIC; INT64_MAX: none). May return early.
void futex_wait(const std::atomic<uint32_t> &word, uint32_t value, int64_t until_ns);
void futex_wake(const std::atomic<uint32_t> &word);

}  // namespace atalaya::core
