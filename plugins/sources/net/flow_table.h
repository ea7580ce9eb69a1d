// SPDX-License-Identifier: Apache-2.0
// Sums the traffic of a window by process, addresses and port. Open addressing hash table with
// a maximum number of flows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "bpf/net.h"

namespace atalaya::net {

enum class Direction : uint8_t { out, in };         // out: this side opened the connection; in: the other side did
enum class Protocol : uint8_t { tcp, udp, local };  // local: Unix sockets

// Traffic in a window.
struct Traffic {
  uint64_t in_bytes = 0, out_bytes = 0, in_packets = 0, out_packets = 0, retransmits = 0;
  uint64_t connections = 0;               // active or started in the window
  uint64_t rtt_us = 0, rtt_readings = 0;  // sum and number of round-trip time readings

  uint64_t bytes() const { return in_bytes + out_bytes; }
  void add(const Traffic &more);
};

// Returns the traffic of one connection since its start.
Traffic traffic_of(const net_amounts &amounts);

// Owner of traffic: a process or, without a pid, the group of ended processes of one name and cgroup.
struct Owner {
  uint64_t start_ns = 0;
  uint64_t cgroup = 0;  // id; 0: unknown
  int32_t pid = 0;
  std::array<char, NET_COMM> name{};

  Owner() = default;
  explicit Owner(const net_owner &owner);
  Owner(int32_t its_pid, uint64_t its_start_ns, std::string_view its_name);
  std::string_view text() const { return {name.data(), ::strnlen(name.data(), name.size())}; }
  // Compares pid and start only, because the name changes with exec and between threads.
  bool same_process(const Owner &other) const { return pid == other.pid && start_ns == other.start_ns; }
  // Compares groups (owners without a pid).
  bool same_group(const Owner &other) const { return cgroup == other.cgroup && text() == other.text(); }
  // Returns the group of this process in the cgroup `its_cgroup`.
  Owner group(uint64_t its_cgroup) const;
};

struct FlowKey {
  Owner owner;
  net_ends ends{};  // ephemeral ports are 0
  Protocol protocol = Protocol::tcp;
  Direction direction = Direction::out;  // unknown for Protocol::local
  int32_t peer = 0;                      // Protocol::local: pid of the process that opened the other end
  bool other = false;                    // the sum of all flows beyond the maximum; the other members are unset

  uint16_t port() const { return direction == Direction::in ? ends.local_port : ends.remote_port; }
  // Ignores the network namespace: a flow reports it only if all its connections share one.
  bool operator==(const FlowKey &with) const;
};

struct Flow {
  FlowKey key;
  Traffic moved;
  uint64_t merged = 0;  // number of merged flows, if key.other is set
};

// Keeps the `max_flows` flows with the most bytes, and one flow for the sum of all others. Invariant: the sum over all flows is
// exact.
class FlowTable {
 public:
  explicit FlowTable(size_t max_flows);

  void clear();
  void add(const FlowKey &key, const Traffic &moved);
  // Returns the flows in descending order of bytes, the sum of all others last. Call it once per window; the result is valid until
  // clear().
  std::span<const Flow> flows();
  // Returns the flows collected so far, in the order of add(); call it before flows().
  std::span<const Flow> collected() const { return flows_; }
  const Flow &others() const { return other_; }
  void add_others(const Flow &other);

 private:
  Flow &flow_of(const FlowKey &key);
  void keep_largest();
  void index();
  void clear_slots();

  size_t max_flows_, capacity_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> slots_;     // hash table: 1 + index in flows_; 0: free slot
  std::vector<size_t> used_slots_;  // occupied slots, so that clear() does not touch the complete table
  Flow other_;
};

}  // namespace atalaya::net
