// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/record_ring.h"

#include <netinet/in.h>

#include <cstring>
#include <string_view>

namespace atalaya::net {

void RecordRing::store(const void *data, size_t size) {
  if (size >= sizeof(net_record)) dispatch(*static_cast<const net_record *>(data));
}

bool RecordRing::BriefKey::operator==(const BriefKey &with) const {
  return flags == with.flags && std::memcmp(&owner, &with.owner, sizeof(owner)) == 0 &&
         std::memcmp(&ends, &with.ends, sizeof(ends)) == 0;
}

size_t RecordRing::BriefHash::operator()(const BriefKey &key) const {
  const std::hash<std::string_view> hash;
  return hash({reinterpret_cast<const char *>(&key.ends), sizeof(key.ends)}) * 31 +
         hash({reinterpret_cast<const char *>(&key.owner), sizeof(key.owner)}) + key.flags;
}

void RecordRing::dispatch(const net_record &record) {
  if (record.kind == NET_CALL) return add_call(record);
  if ((record.flags & (NET_SEEN | NET_REPORTED)) == 0) return add_brief(record);
  if (records_.size() < max_entries_)
    records_.push_back(record);
  else
    ++lost_;
}

// No walk has reported the connection, so it is only added to a sum, which needs no memory per connection. If there are too many
// sums, further connections are summed by process, without their addresses.
void RecordRing::add_brief(const net_record &record) {
  BriefKey key{record.owner, record.ends, record.flags};
  if (merge_ports_) ((record.flags & NET_INCOMING) != 0 ? key.ends.remote_port : key.ends.local_port) = 0;
  auto at = briefs_.find(key);
  if (at == briefs_.end() && briefs_.size() >= max_entries_) {
    key.ends = {};  // the peer is no longer known
    at = briefs_.find(key);
    if (at == briefs_.end() && briefs_.size() >= 2 * max_entries_) {
      ++lost_;
      return;
    }
  }
  if (at == briefs_.end()) at = briefs_.emplace(key, Traffic()).first;
  at->second.add(traffic_of(record.amounts));
}

// Makes the same key as bpf/net.bpf.c.
net_use_key RecordRing::key_of(const net_record &record) const {
  net_use_key key{};
  key.cookie = record.cookie;
  key.pid = record.owner.pid;
  if (record.protocol != IPPROTO_UDP) return key;
  if (!merge_ports_ || (record.flags & NET_BOUND) == 0) key.port = record.ends.remote_port;
  std::memcpy(key.address, record.ends.remote, sizeof(key.address));
  return key;
}

net_use *RecordRing::counters_of(const net_record &record) {
  net_use_key key = key_of(record);
  net_ends ends = record.ends;
  auto at = uses_.find(key);
  if (at == uses_.end() && uses_.size() >= max_entries_ && record.protocol == IPPROTO_UDP) {
    key.port = ends.remote_port = 0;  // the peer is no longer known
    std::memset(key.address, 0, sizeof(key.address));
    std::memset(ends.remote, 0, sizeof(ends.remote));
    at = uses_.find(key);
  }
  if (at != uses_.end()) return &at->second;
  if (uses_.size() >= 2 * max_entries_) return nullptr;
  return &uses_.emplace(key, net_use{record.owner, ends, record.protocol, record.flags, record.peer, 0, 0, 0, 0, 0}).first->second;
}

void RecordRing::add_call(const net_record &record) {
  net_use *use = counters_of(record);
  if (use == nullptr) {
    ++lost_;
    return;
  }
  use->in_bytes += record.amounts.in_bytes;
  use->out_bytes += record.amounts.out_bytes;
  use->in_calls += record.amounts.in_packets;
  use->out_calls += record.amounts.out_packets;
}

void RecordRing::take(const Backend::Callback &take, const Backend::OnBrief &on_brief) {
  drained_records_.clear();
  drained_briefs_.clear();
  {
    const auto lock = ring_.drain();
    drained_records_.swap(records_);
    drained_briefs_.swap(briefs_);
  }
  for (const net_record &record : drained_records_) take(record);
  for (const auto &[key, sum] : drained_briefs_) {
    net_record common{};
    common.kind = NET_CLOSED;
    common.flags = key.flags;
    common.owner = key.owner;
    common.ends = key.ends;
    common.protocol = IPPROTO_TCP;
    on_brief(common, sum);
  }
}

void RecordRing::report_uses(const Backend::UseCallback &take) {
  const auto lock = ring_.lock();
  std::erase_if(uses_, [&take](const auto &entry) {
    const bool idle = take(entry.first, entry.second, false);
    if (idle) take(entry.first, entry.second, true);
    return idle;
  });
}

uint64_t RecordRing::lost() const {
  const auto lock = ring_.lock();
  return lost_;
}

}  // namespace atalaya::net
