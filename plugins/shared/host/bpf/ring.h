// SPDX-License-Identifier: Apache-2.0
// A ring buffer (BPF_MAP_TYPE_RINGBUF) into which BPF programs write records. A thread drains it when the kernel wakes it, which
// it does only when the buffer fills.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/files.h"

struct ring_buffer;

namespace atalaya::bpf {

class Ring {
 public:
  // Receives each record, from the thread or from drain(). Must not throw, because libbpf (C) calls it.
  using OnRecord = std::function<void(const void *data, size_t size)>;
  explicit Ring(OnRecord keep) : on_record_(std::move(keep)) {}
  Ring(const Ring &) = delete;
  Ring &operator=(const Ring &) = delete;
  ~Ring();
  bool open(int map, const char *thread_name);

  // The lock protects the data that `keep` fills. drain() locks, then passes all records in the ring to `keep`; drain_locked()
  // passes them for a caller that has the lock.
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }
  std::unique_lock<std::mutex> drain();
  void drain_locked();

 private:
  struct Deleter {
    void operator()(ring_buffer *ring) const;
  };
  static int on_record(void *self, void *data, size_t size) noexcept;
  void run();

  const OnRecord on_record_;
  std::unique_ptr<ring_buffer, Deleter> ring_;
  core::Descriptor stop_;
  mutable std::mutex mutex_;  // guards the ring's reading end and the data that `keep` fills
  std::thread thread_;
};

}  // namespace atalaya::bpf
