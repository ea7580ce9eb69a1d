// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/flow_table.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>

namespace atalaya::net {
namespace {

// Flows collected per reported flow. If a window has more, the smallest so far are merged into the sum of all others.
constexpr size_t kCollectedPerKept = 4;

bool moves_more(const Flow &a, const Flow &b) {
  if (a.moved.bytes() != b.moved.bytes()) return a.moved.bytes() > b.moved.bytes();
  return a.key.owner.pid != b.key.owner.pid ? a.key.owner.pid < b.key.owner.pid : a.key.port() < b.key.port();
}

size_t hash_of(const FlowKey &key) {
  constexpr size_t kOdd = 0x9e3779b97f4a7c15;
  const std::hash<std::string_view> hash;
  const std::string_view ends(reinterpret_cast<const char *>(&key.ends), offsetof(net_ends, space));
  size_t sum = hash(ends);
  // Owners without a pid (groups of ended processes) differ by name and cgroup.
  sum = sum * kOdd + (key.owner.pid != 0 ? key.owner.start_ns : hash(key.owner.text()) + key.owner.cgroup);
  sum = sum * kOdd + static_cast<uint32_t>(key.owner.pid);
  sum = sum * kOdd + static_cast<uint32_t>(key.peer);
  sum = sum * kOdd + static_cast<size_t>(key.protocol) * 2 + static_cast<size_t>(key.direction);
  return sum * kOdd >> 20;
}

}  // namespace

void Traffic::add(const Traffic &more) {
  in_bytes += more.in_bytes;
  out_bytes += more.out_bytes;
  in_packets += more.in_packets;
  out_packets += more.out_packets;
  retransmits += more.retransmits;
  connections += more.connections;
  rtt_us += more.rtt_us;
  rtt_readings += more.rtt_readings;
}

Traffic traffic_of(const net_amounts &amounts) {
  Traffic traffic{amounts.in_bytes, amounts.out_bytes, amounts.in_packets, amounts.out_packets, amounts.retransmits, 1, 0, 0};
  if (amounts.rtt_us > 0) {
    traffic.rtt_us = amounts.rtt_us;
    traffic.rtt_readings = 1;
  }
  return traffic;
}

Owner::Owner(const net_owner &owner) : start_ns(owner.start_ns), cgroup(owner.cgroup), pid(owner.pid) {
  std::memcpy(name.data(), owner.comm, name.size());
}

Owner::Owner(int32_t its_pid, uint64_t its_start_ns, std::string_view its_name) : start_ns(its_start_ns), pid(its_pid) {
  std::memcpy(name.data(), its_name.data(), std::min(its_name.size(), name.size()));
}

Owner Owner::group(uint64_t its_cgroup) const {
  Owner group(0, 0, text());
  group.cgroup = its_cgroup;
  return group;
}

bool FlowKey::operator==(const FlowKey &with) const {
  return owner.same_process(with.owner) && (owner.pid != 0 || owner.same_group(with.owner)) && protocol == with.protocol &&
         direction == with.direction && peer == with.peer && std::memcmp(&ends, &with.ends, offsetof(net_ends, space)) == 0;
}

FlowTable::FlowTable(size_t max_flows)
    : max_flows_(std::max<size_t>(max_flows, 1)), capacity_(max_flows_ * kCollectedPerKept), slots_(std::bit_ceil(2 * capacity_)) {
  other_.key.other = true;
}

void FlowTable::clear() {
  flows_.clear();
  clear_slots();
  other_.moved = {};
  other_.merged = 0;
}

void FlowTable::add(const FlowKey &key, const Traffic &moved) {
  flow_of(key).moved.add(moved);
}

void FlowTable::add_others(const Flow &other) {
  other_.moved.add(other.moved);
  other_.merged += other.merged;
}

Flow &FlowTable::flow_of(const FlowKey &key) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash_of(key) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask)
    if (Flow &flow = flows_[slots_[at] - 1]; flow.key == key) {
      if (flow.key.ends.space != key.ends.space) flow.key.ends.space = 0;  // several namespaces
      return flow;
    }
  if (flows_.size() == capacity_) {
    keep_largest();
    index();
    return flow_of(key);
  }
  flows_.push_back({key, {}, 0});
  slots_[at] = static_cast<uint32_t>(flows_.size());
  used_slots_.push_back(at);
  return flows_.back();
}

void FlowTable::clear_slots() {
  for (const size_t at : used_slots_) slots_[at] = 0;
  used_slots_.clear();
}

void FlowTable::keep_largest() {
  if (flows_.size() <= max_flows_) return;
  const auto kept_end = flows_.begin() + static_cast<std::ptrdiff_t>(max_flows_);
  std::nth_element(flows_.begin(), kept_end, flows_.end(), moves_more);
  for (auto flow = kept_end; flow != flows_.end(); ++flow) {
    other_.moved.add(flow->moved);
    ++other_.merged;
  }
  flows_.erase(kept_end, flows_.end());
}

void FlowTable::index() {
  clear_slots();
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < flows_.size(); ++i) {
    size_t at = hash_of(flows_[i].key) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<uint32_t>(i + 1);
    used_slots_.push_back(at);
  }
}

std::span<const Flow> FlowTable::flows() {
  if (!flows_.empty() && flows_.back().key.other) return flows_;
  keep_largest();
  std::sort(flows_.begin(), flows_.end(), moves_more);
  if (other_.merged > 0) flows_.push_back(other_);
  return flows_;
}

}  // namespace atalaya::net
