// SPDX-License-Identifier: Apache-2.0
// From records of sockets to the traffic of a window: growth, owners, directions. Independent of files, kernel and ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bpf/net.h"
#include "plugins/sources/net/flow_table.h"
#include "plugins/sources/net/use_key.h"

namespace atalaya::net {

struct ModelOptions {
  bool merge_ports = true;   // drop ephemeral ports
  bool amounts = true;       // else only begins and ends of connections
  bool tcp_by_call = false;  // TCP traffic comes from use(), by caller
  size_t max_flows = 10000;  // per window
  size_t vanished = 4096;    // connections without an end whose last reading is kept
};

// A process and its network usage in this window.
struct NetProcess {
  Owner owner;
  uint64_t connections = 0;  // open ones, of TCP
  // Whether it has, or had in this window, sockets of the kind, and their traffic.
  bool tcp = false, udp = false, local = false;
  Traffic moved_tcp, moved_udp, moved_local;
  uint64_t connects = 0, accepts = 0, failures = 0;

  void add(const NetProcess &more);
};

// A window: begin; all records of a walk, then end_walk; the ends; the uses; end.
class SocketModel {
 public:
  explicit SocketModel(const ModelOptions &options);

  // A baseline takes readings without traffic. A whole walk reports all sockets, others only changed ones.
  void begin(bool baseline, bool whole);
  void add(const net_record &record);
  // Ended connections that were never added.
  void add_brief(const net_record &like, const Traffic &together);
  // The holder of each socket is known only at the end of a walk.
  void end_walk();
  // Traffic of a process through a socket, for UDP with one peer, since the first counted call. True when it is idle: then it may
  // be reported a last time, with `gone` set, and later calls count from 0.
  bool use(const net_use_key &key, const net_use &use, bool gone = false);
  void end();

  // Of this window, until the next begin.
  const std::vector<const NetProcess *> &processes() const { return shown_; }
  const FlowTable &flows() const { return flows_; }
  // Connections of this window that were reported before but have been forgotten: their traffic since then is lost.
  uint64_t lost() const { return lost_; }
  // Connections that were closed from their last reading in this window: nobody holds them, and no end was reported.
  uint64_t vanished() const { return vanished_count_; }
  size_t sockets() const { return sockets_.size(); }

 private:
  struct Socket {
    net_amounts last{};
    net_amounts now{};
    net_ends ends{};
    uint32_t flags = 0;
    uint32_t walk = 0;        // the last one that reported it
    uint32_t seen_whole = 0;  // the last whole walk up to its last report
    bool counted = false;     // its beginning, and what it had moved then
    Owner owner, candidate;
    std::optional<Direction> direction;  // fixed in the first window: the listener may close later
    bool owned = false;                  // it counts among the owner's connections
  };
  struct Use {
    uint64_t in_bytes = 0, out_bytes = 0, in_calls = 0, out_calls = 0;
    uint32_t idle_windows = 0;
  };

  using Sockets = std::unordered_map<uint64_t, Socket>;  // by cookie

  void open(const net_record &record);
  void closed(const net_record &record);
  void settle(Socket &socket);
  void own(Socket &socket, const Owner &owner);
  void disown(Socket &socket);
  void count(const Owner &owner, const net_ends &ends, Direction direction, const Traffic &moved);
  NetProcess &process_of(const Owner &owner);
  Direction direction_of(const net_ends &ends, uint32_t flags) const;
  Direction direction_of(uint64_t cookie, const net_use &use) const;
  FlowKey key_of(const Owner &owner, const net_ends &ends, Protocol protocol, Direction direction) const;
  void close_vanished();
  void keep_vanished(Sockets::node_type node);
  void recall(uint64_t cookie);

  ModelOptions options_;
  bool baseline_ = false, whole_ = false;
  uint64_t lost_ = 0, vanished_count_ = 0;
  uint32_t walk_ = 0, wholes_ = 0;
  Sockets sockets_;
  std::vector<Socket *> touched_;  // reported in this walk
  Sockets vanished_;               // a late record continues from the last reading
  std::deque<uint64_t> vanished_order_;
  std::unordered_map<net_use_key, Use, UseHash, SameUse> uses_;
  std::unordered_set<uint64_t> listening_;              // network namespace and port
  std::unordered_map<uint64_t, NetProcess> processes_;  // by start and pid
  std::vector<const NetProcess *> shown_;
  FlowTable flows_;
};

}  // namespace atalaya::net
