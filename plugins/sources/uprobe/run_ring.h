// SPDX-License-Identifier: Apache-2.0
// The ring that the kernel's programs tell runs by. A thread empties it when it fills; the kernel wakes it only then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bpf/uprobe.h"
#include "core/util/files.h"

struct ring_buffer;

namespace atalaya::uprobe {

class RunRing {
 public:
  using Wants = std::function<bool(std::string_view process)>;  // empty: all
  RunRing(size_t max_kept, Wants wants) : max_kept_(max_kept), wants_(std::move(wants)), lost_(UPROBE_REGIONS) {}
  RunRing(const RunRing &) = delete;
  RunRing &operator=(const RunRing &) = delete;
  ~RunRing();
  bool open(int map);

  // What is wanted of what has come since the last call; answers how many of these came beyond max_kept, by region.
  std::vector<uint64_t> take(const std::function<void(const uprobe_run &)> &take);

 private:
  struct RingDeleter {
    void operator()(ring_buffer *ring) const;
  };
  static int on_run(void *self, void *data, size_t size) noexcept;
  void keep(const uprobe_run &run);
  void run();

  const size_t max_kept_;
  const Wants wants_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  core::Descriptor stop_;
  std::mutex mutex_;  // of all below, and of the ring's reading end
  std::vector<uprobe_run> kept_, taken_;
  std::vector<uint64_t> lost_;  // by region
  std::thread thread_;
};

}  // namespace atalaya::uprobe
