// SPDX-License-Identifier: Apache-2.0
// Traffic of a window, summed by process, addresses and port. The number of flows per window is bounded.
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

enum class Direction : uint8_t { out, in };         // opened by this side, by the other side
enum class Protocol : uint8_t { tcp, udp, local };  // local: Unix sockets

// Traffic in a window.
struct Traffic {
  uint64_t in_bytes = 0, out_bytes = 0, in_packets = 0, out_packets = 0, retransmits = 0;
  uint64_t connections = 0;               // active or begun
  uint64_t rtt_us = 0, rtt_readings = 0;  // sum and number of round-trip times

  uint64_t bytes() const { return in_bytes + out_bytes; }
  void add(const Traffic &more);
};

// The traffic of one connection since it began.
Traffic traffic_of(const net_amounts &amounts);

// A process. Without a pid: the ended processes of one name and cgroup.
struct Owner {
  uint64_t start_ns = 0;
  uint64_t cgroup = 0;  // id; 0: unknown
  int32_t pid = 0;
  std::array<char, NET_COMM> name{};

  Owner() = default;
  explicit Owner(const net_owner &owner);
  Owner(int32_t its_pid, uint64_t its_start_ns, std::string_view its_name);
  std::string_view text() const { return {name.data(), ::strnlen(name.data(), name.size())}; }
  // Names change with programs and threads; pid and start identify the process.
  bool same_process(const Owner &other) const { return pid == other.pid && start_ns == other.start_ns; }
  // Of owners without a pid.
  bool same_group(const Owner &other) const { return cgroup == other.cgroup && text() == other.text(); }
  // Without the pid, and with `its_cgroup`.
  Owner group(uint64_t its_cgroup) const;
};

struct FlowKey {
  Owner owner;
  net_ends ends{};  // ephemeral ports are 0
  Protocol protocol = Protocol::tcp;
  Direction direction = Direction::out;  // of local: unknown
  int32_t peer = 0;                      // of local: pid of the opener of the other end
  bool other = false;                    // all flows without a separate entry; the rest of the key is unknown

  uint16_t port() const { return direction == Direction::in ? ends.local_port : ends.remote_port; }
  // Does not compare the network namespace: a flow reports it if all its connections share one.
  bool operator==(const FlowKey &with) const;
};

struct Flow {
  FlowKey key;
  Traffic moved;
  uint64_t merged = 0;  // of `other`: number of merged flows
};

// At most `max_flows` flows, those with the most bytes, and one for all others. All sums are exact.
class FlowTable {
 public:
  explicit FlowTable(size_t max_flows);

  void clear();
  void add(const FlowKey &key, const Traffic &moved);
  // In descending order of bytes, the others last. Ends the window: valid until clear.
  std::span<const Flow> flows();
  // In the order of arrival; call before flows().
  std::span<const Flow> gathered() const { return flows_; }
  const Flow &others() const { return other_; }
  void add_others(const Flow &other);

 private:
  Flow &flow_of(const FlowKey &key);
  void keep_largest();
  void index();
  void forget_slots();

  size_t max_flows_, capacity_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> slots_;  // 1 + index of a flow, by hash; 0: free
  std::vector<size_t> taken_;    // slots that are not free: few of them, and all of them would be most of the cache
  Flow other_;
};

}  // namespace atalaya::net
