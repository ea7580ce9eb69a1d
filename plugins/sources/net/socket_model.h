// SPDX-License-Identifier: Apache-2.0
// From what is told of sockets to what moved in a window: growth, owners, directions. Knows no files, no kernel and no ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bpf/net.h"
#include "plugins/sources/net/flow_table.h"

namespace atalaya::net {

struct ModelOptions {
  bool merge_ports = true;   // ports that the kernel chose for one connection mean nothing
  bool amounts = true;       // else only that connections begin and end
  bool tcp_by_call = false;  // what TCP moves comes from use(), by whoever called
  size_t max_flows = 10000;  // a window
};

// A process and what it did with the network in this window.
struct NetProcess {
  Owner owner;
  uint64_t connections = 0;  // open ones, of TCP
  // Whether it has, or had in this window, sockets of the kind, and what it moved by them.
  bool tcp = false, udp = false, local = false;
  Traffic moved_tcp, moved_udp, moved_local;
  uint64_t connects = 0, accepts = 0, failures = 0;

  void add(const NetProcess &more);
};

// A window: begin; all that a walk told, then walked; the ends that were told; what was used; end.
class SocketModel {
 public:
  explicit SocketModel(const ModelOptions &options);

  // A baseline takes readings, but nothing moves in it. A whole walk tells of all sockets, others of those that have changed.
  void begin(bool baseline, bool whole);
  void tell(const net_record &record);
  // Connections that have ended and that tell() has not told of.
  void brief(const net_record &like, const Traffic &together);
  // Who holds each socket is known only at the end of a walk.
  void walked();
  // What a process has moved through a socket since the first call that was counted. True when it rests: then it may be told a last
  // time, as `gone`, and what comes after that counts from 0.
  bool use(const net_use_key &key, const net_use &use, bool gone = false);
  void end();

  // Of this window, until the next begin.
  const std::vector<const NetProcess *> &processes() const { return shown_; }
  const FlowTable &flows() const { return flows_; }
  // Ends in this window of connections that were told of before but are known no more.
  uint64_t lost() const { return lost_; }
  size_t sockets() const { return sockets_.size(); }

 private:
  struct Socket {
    net_amounts last{};
    net_amounts now{};
    net_ends ends{};
    uint32_t flags = 0;
    uint32_t walk = 0;        // the last one that told of it
    uint32_t seen_whole = 0;  // the last whole walk that did
    Owner owner, candidate;
    std::optional<Direction> direction;  // known since its first window: who listened may listen no more
    bool owned = false;                  // it counts among the owner's connections
  };
  struct UseKey {
    uint64_t cookie;
    int32_t pid;
    bool operator==(const UseKey &) const = default;
  };
  struct UseHash {
    size_t operator()(const UseKey &key) const { return (key.cookie * 31 + static_cast<uint32_t>(key.pid)) * 0x9e3779b97f4a7c15; }
  };
  struct Use {
    uint64_t in_bytes = 0, out_bytes = 0, in_calls = 0, out_calls = 0;
    uint32_t rests = 0;  // windows
  };

  void open(const net_record &record);
  void closed(const net_record &record);
  void settle(Socket &socket);
  void own(Socket &socket, const Owner &owner);
  void count(const Owner &owner, const net_ends &ends, Direction direction, const Traffic &moved);
  NetProcess &process_of(const Owner &owner);
  Direction direction_of(const net_ends &ends, uint32_t flags) const;
  Direction direction_of(uint64_t cookie, const net_use &use) const;
  FlowKey key_of(const Owner &owner, const net_ends &ends, Protocol protocol, Direction direction) const;
  void forget_lost();

  ModelOptions options_;
  bool baseline_ = false, whole_ = false;
  uint64_t lost_ = 0;
  uint32_t walk_ = 0, wholes_ = 0;
  std::unordered_map<uint64_t, Socket> sockets_;  // by cookie
  std::vector<Socket *> touched_;                 // told in this walk
  std::unordered_map<UseKey, Use, UseHash> uses_;
  std::unordered_set<uint64_t> listening_;              // network namespace and port
  std::unordered_map<uint64_t, NetProcess> processes_;  // by start and pid
  std::vector<const NetProcess *> shown_;
  FlowTable flows_;
};

}  // namespace atalaya::net
