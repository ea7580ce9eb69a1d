// SPDX-License-Identifier: Apache-2.0
// The ring that the kernel's programs tell connections and calls by. A thread empties it when it fills; the kernel wakes it only
// then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bpf/net.h"
#include "core/util/files.h"
#include "plugins/sources/net/backend.h"

struct ring_buffer;

namespace atalaya::net {

class RecordRing {
 public:
  // At most so many records, and as many pairs of process and socket, are kept until they are taken.
  explicit RecordRing(size_t max_kept) : max_kept_(max_kept) {}
  RecordRing(const RecordRing &) = delete;
  RecordRing &operator=(const RecordRing &) = delete;
  ~RecordRing();
  bool open(int map);

  // What has come since the last call, single calls apart.
  void take(const Backend::Take &take);
  // The sums of the single calls.
  void take_uses(const Backend::TakeUse &take);
  uint64_t lost() const;

 private:
  struct RingDeleter {
    void operator()(ring_buffer *ring) const;
  };
  struct Key {
    uint64_t cookie;
    int32_t pid;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const { return (key.cookie * 31 + static_cast<uint32_t>(key.pid)) * 0x9e3779b97f4a7c15; }
  };

  static int on_record(void *self, void *data, size_t size);
  void keep(const net_record &record);
  void run();

  size_t max_kept_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  core::Descriptor stop_;
  mutable std::mutex mutex_;  // of all below, and of the ring's reading end
  std::vector<net_record> kept_, taken_;
  std::unordered_map<Key, net_use, Hash> uses_;
  uint64_t lost_ = 0;
  std::thread thread_;
};

}  // namespace atalaya::net
