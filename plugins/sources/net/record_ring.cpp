// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/record_ring.h"

#include <netinet/in.h>

#include <cstring>
#include <string_view>

namespace atalaya::net {

void RecordRing::keep(const void *data, size_t size) {
  if (size >= sizeof(net_record)) sort(*static_cast<const net_record *>(data));
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

void RecordRing::sort(const net_record &record) {
  if (record.kind == NET_MOVED) return add_call(record);
  if ((record.flags & (NET_SEEN | NET_REPORTED)) == 0) return add_brief(record);
  if (kept_.size() < max_kept_)
    kept_.push_back(record);
  else
    ++lost_;
}

// No walk has reported the connection, so only its sum is needed: in a storm there is room for all. With too many flows, further
// connections are summed by process.
void RecordRing::add_brief(const net_record &record) {
  BriefKey key{record.owner, record.ends, record.flags};
  if (merge_ports_) ((record.flags & NET_INCOMING) != 0 ? key.ends.remote_port : key.ends.local_port) = 0;
  auto at = briefs_.find(key);
  if (at == briefs_.end() && briefs_.size() >= max_kept_) {
    key.ends = {};  // the peer is no longer known
    at = briefs_.find(key);
    if (at == briefs_.end() && briefs_.size() >= 2 * max_kept_) {
      ++lost_;
      return;
    }
  }
  if (at == briefs_.end()) at = briefs_.emplace(key, Traffic()).first;
  at->second.add(traffic_of(record.amounts));
}

void RecordRing::add_call(const net_record &record) {
  const Key key{record.cookie, record.owner.pid};
  auto at = uses_.find(key);
  if (at == uses_.end()) {
    if (uses_.size() >= max_kept_) {
      ++lost_;
      return;
    }
    at = uses_.emplace(key, net_use{record.owner, record.ends, record.protocol, record.flags, record.peer, 0, 0, 0, 0, 0}).first;
  }
  at->second.in_bytes += record.amounts.in_bytes;
  at->second.out_bytes += record.amounts.out_bytes;
  at->second.in_calls += record.amounts.in_packets;
  at->second.out_calls += record.amounts.out_packets;
}

void RecordRing::take(const Backend::Take &take, const Backend::TakeBrief &take_brief) {
  taken_.clear();
  taken_briefs_.clear();
  {
    const auto lock = ring_.drain();
    taken_.swap(kept_);
    taken_briefs_.swap(briefs_);
  }
  for (const net_record &record : taken_) take(record);
  for (const auto &[key, together] : taken_briefs_) {
    net_record like{};
    like.kind = NET_CLOSED;
    like.flags = key.flags;
    like.owner = key.owner;
    like.ends = key.ends;
    like.protocol = IPPROTO_TCP;
    take_brief(like, together);
  }
}

void RecordRing::take_uses(const Backend::TakeUse &take) {
  const auto lock = ring_.hold();
  std::erase_if(uses_, [&take](const auto &entry) {
    const net_use_key key{entry.first.cookie, entry.first.pid, 0};
    const bool idle = take(key, entry.second, false);
    if (idle) take(key, entry.second, true);
    return idle;
  });
}

uint64_t RecordRing::lost() const {
  const auto lock = ring_.hold();
  return lost_;
}

}  // namespace atalaya::net
