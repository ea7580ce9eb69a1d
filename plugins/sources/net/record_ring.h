// SPDX-License-Identifier: Apache-2.0
// Buffers the records of connections and calls that the BPF programs send, until the collector
// reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "bpf/net.h"
#include "plugins/shared/host/bpf/ring.h"
#include "plugins/sources/net/backend.h"
#include "plugins/sources/net/use_key.h"

namespace atalaya::net {

class RecordRing {
 public:
  // `max_entries`: maximum size of each buffer: records, sums of brief connections, pairs of process and socket, triples with the
  // UDP peer.
  RecordRing(size_t max_entries, bool merge_ports) : max_entries_(max_entries), merge_ports_(merge_ports) {}
  bool open(int map) { return ring_.open(map, "net"); }

  // Reports the records since the last call, except those of single system calls.
  void take(const Backend::Callback &take, const Backend::OnBrief &on_brief);
  // Reports the sums of the single system calls.
  void report_uses(const Backend::UseCallback &take);
  uint64_t lost() const;

 private:
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

  void store(const void *data, size_t size);
  void dispatch(const net_record &record);
  void add_brief(const net_record &record);
  net_use_key key_of(const net_record &record) const;
  void add_call(const net_record &record);
  net_use *counters_of(const net_record &record);

  size_t max_entries_;
  bool merge_ports_;
  std::vector<net_record> records_, drained_records_;
  Briefs briefs_, drained_briefs_;
  std::unordered_map<net_use_key, net_use, UseHash, SameUse> uses_;
  uint64_t lost_ = 0;
  bpf::Ring ring_{// declared last, so that it is destroyed first: its thread fills the members above
                  [this](const void *data, size_t size) { store(data, size); }};
};

}  // namespace atalaya::net
