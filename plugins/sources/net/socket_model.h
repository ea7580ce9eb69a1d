// SPDX-License-Identifier: Apache-2.0
// Computes the traffic of a window from socket records: increments, owners, directions. Pure:
// no files, no kernel, no ABI.
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
  bool merge_ports = true;     // drop ephemeral ports
  bool amounts = true;         // count bytes; false: only starts and ends of connections
  bool tcp_by_call = false;    // TCP traffic is passed to use(), by the calling process
  size_t max_flows = 10000;    // maximum flows per window
  size_t max_vanished = 4096;  // maximum removed sockets without a reported end whose last reading is kept
};

// A process and its network usage in this window.
struct NetProcess {
  Owner owner;
  uint64_t connections = 0;  // open TCP connections
  // For each protocol: whether the process has or had sockets of it in this window, and their traffic.
  bool tcp = false, udp = false, local = false;
  Traffic moved_tcp, moved_udp, moved_local;
  uint64_t connects = 0, accepts = 0, failures = 0;

  void add(const NetProcess &more);
};

// Order of calls in a window: begin; add for each record of a walk; end_walk; add and add_brief for ended connections; use for
// each counter of system calls; end.
class SocketModel {
 public:
  explicit SocketModel(const ModelOptions &options);

  // `baseline`: the model stores readings but computes no traffic. `complete`: the walk reports all sockets, not only changed ones.
  void begin(bool baseline, bool complete);
  void add(const net_record &record);
  // Adds the traffic `sum` of connections that started and ended between two walks. `common`: their process, addresses and flags.
  void add_brief(const net_record &common, const Traffic &sum);
  // Ends the walk and assigns the sockets to processes: all processes of a socket are known only now.
  void end_walk();
  // Sets the traffic of a process through a socket (UDP: with one peer) since the first counted call. Returns true if the pair of
  // process and socket is idle: the caller may then delete its counter and call use a last time with `is_last` set.
  bool use(const net_use_key &key, const net_use &use, bool is_last = false);
  void end();

  // Returns the processes of this window; valid until the next begin.
  const std::vector<const NetProcess *> &processes() const { return window_processes_; }
  const FlowTable &flows() const { return flows_; }
  // Returns the number of connections in this window whose traffic is incomplete, because the limit `max_vanished` removed their
  // last reading.
  uint64_t lost() const { return lost_; }
  // Returns the number of connections that ended in this window without a reported end: no process has them open any more.
  uint64_t vanished() const { return vanished_count_; }
  size_t sockets() const { return sockets_.size(); }

 private:
  struct Socket {
    net_amounts last{};
    net_amounts now{};
    net_ends ends{};
    uint32_t flags = 0;
    uint32_t walk = 0;                // number of the last walk that reported the socket
    uint32_t last_complete_walk = 0;  // number of the last complete walk at its last report
    bool counted = false;             // the start of the connection, and its amounts at the start, were counted
    Owner owner, candidate;
    std::optional<Direction> direction;  // decided in the first window, because the listener may close later
    bool owned = false;                  // counted in NetProcess::connections of its owner
  };
  struct Use {
    uint64_t in_bytes = 0, out_bytes = 0, in_calls = 0, out_calls = 0;
    uint32_t idle_windows = 0;
  };

  using Sockets = std::unordered_map<uint64_t, Socket>;  // by cookie

  void open(const net_record &record);
  void closed(const net_record &record);
  void count_socket(Socket &socket);
  void assign_owner(Socket &socket, const Owner &owner);
  void remove_owner(Socket &socket);
  void count(const Owner &owner, const net_ends &ends, Direction direction, const Traffic &moved);
  NetProcess &process_of(const Owner &owner);
  Direction direction_of(const net_ends &ends, uint32_t flags) const;
  Direction direction_of(uint64_t cookie, const net_use &use) const;
  FlowKey key_of(const Owner &owner, const net_ends &ends, Protocol protocol, Direction direction) const;
  void close_vanished();
  void keep_vanished(Sockets::node_type node);
  void restore_vanished(uint64_t cookie);

  ModelOptions options_;
  bool baseline_ = false, complete_ = false;
  uint64_t lost_ = 0, vanished_count_ = 0;
  uint32_t walk_ = 0, complete_walks_ = 0;
  Sockets sockets_;
  std::vector<Socket *> touched_;  // sockets that this walk reported
  Sockets vanished_;               // removed sockets; a late record continues from the last reading
  std::deque<uint64_t> vanished_order_;
  std::unordered_map<net_use_key, Use, UseHash, SameUse> uses_;
  std::unordered_set<uint64_t> listening_;              // network namespace and port
  std::unordered_map<uint64_t, NetProcess> processes_;  // by start and pid
  std::vector<const NetProcess *> window_processes_;
  FlowTable flows_;
};

}  // namespace atalaya::net
