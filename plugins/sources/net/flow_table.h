// SPDX-License-Identifier: Apache-2.0
// What moved between whom in a window: sums by process, addresses and port. A window has a bounded number of flows, whatever
// happens.
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

enum class Direction : uint8_t { out, in };         // who opened it: this side, the other side
enum class Protocol : uint8_t { tcp, udp, local };  // local: Unix sockets

// What was moved in a window.
struct Traffic {
  uint64_t in_bytes = 0, out_bytes = 0, in_packets = 0, out_packets = 0, retransmits = 0;
  uint64_t connections = 0;               // that moved something or began
  uint64_t rtt_us = 0, rtt_readings = 0;  // sum of the round-trip times of so many connections

  uint64_t bytes() const { return in_bytes + out_bytes; }
  void add(const Traffic &more);
};

// Of one connection, since it began.
Traffic traffic_of(const net_amounts &amounts);

// A process as long as it lives. Without a pid: all of that name that have ended.
struct Owner {
  uint64_t start_ns = 0;
  int32_t pid = 0;
  std::array<char, NET_COMM> name{};

  Owner() = default;
  explicit Owner(const net_owner &owner);
  Owner(int32_t its_pid, uint64_t its_start_ns, std::string_view its_name);
  std::string_view text() const { return {name.data(), ::strnlen(name.data(), name.size())}; }
  // Programs and threads change names; a process stays what it is.
  bool same_process(const Owner &other) const { return pid == other.pid && start_ns == other.start_ns; }
};

struct FlowKey {
  Owner owner;
  net_ends ends{};  // ports that mean nothing to anybody else are 0
  Protocol protocol = Protocol::tcp;
  Direction direction = Direction::out;  // of local: unknown
  int32_t peer = 0;                      // of local: who opened the other end, a pid
  bool other = false;                    // all flows that have no place of their own; nothing else of the key is known

  uint16_t port() const { return direction == Direction::in ? ends.local_port : ends.remote_port; }
  // The network namespace is no part of it: it is told beside the flow, as far as it is one.
  bool operator==(const FlowKey &with) const;
};

struct Flow {
  FlowKey key;
  Traffic moved;
  uint64_t merged = 0;  // of `other`: how many flows it stands for
};

// At most `max_flows` flows, those with the most bytes, and one for all others. All sums are exact.
class FlowTable {
 public:
  explicit FlowTable(size_t max_flows);

  void clear();
  void add(const FlowKey &key, const Traffic &moved);
  // By bytes, the most first, the others last. Ends the window: valid until clear.
  std::span<const Flow> flows();
  // As they came, before flows().
  std::span<const Flow> gathered() const { return flows_; }
  const Flow &others() const { return other_; }
  void add_others(const Flow &other);

 private:
  Flow &flow_of(const FlowKey &key);
  void keep_largest();
  void index();

  size_t max_flows_, capacity_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> slots_;  // 1 + index of a flow, by hash; 0: free
  Flow other_;
};

}  // namespace atalaya::net
