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
  // At most so many records, as many sums of brief connections, and as many pairs of process and socket, are kept until they are
  // taken.
  RecordRing(size_t max_kept, bool merge_ports) : max_kept_(max_kept), merge_ports_(merge_ports) {}
  RecordRing(const RecordRing &) = delete;
  RecordRing &operator=(const RecordRing &) = delete;
  ~RecordRing();
  bool open(int map);

  // What has come since the last call, single calls apart.
  void take(const Backend::Take &take, const Backend::TakeBrief &take_brief);
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

  struct BriefKey {
    net_owner owner;
    net_ends ends;
    uint32_t flags;
    bool operator==(const BriefKey &with) const;
  };
  struct BriefHash {
    size_t operator()(const BriefKey &key) const;
  };
  using Briefs = std::unordered_map<BriefKey, Traffic, BriefHash>;

  static int on_record(void *self, void *data, size_t size);
  void keep(const net_record &record);
  void add_brief(const net_record &record);
  void add_call(const net_record &record);
  void run();

  size_t max_kept_;
  bool merge_ports_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  core::Descriptor stop_;
  mutable std::mutex mutex_;  // of all below, and of the ring's reading end
  std::vector<net_record> kept_, taken_;
  Briefs briefs_, taken_briefs_;
  std::unordered_map<Key, net_use, Hash> uses_;
  uint64_t lost_ = 0;
  std::thread thread_;
};

}  // namespace atalaya::net
