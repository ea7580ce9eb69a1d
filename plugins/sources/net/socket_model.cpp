// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/socket_model.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace atalaya::net {
namespace {

// Idle windows after which the counter of a process and socket is deleted, also in the kernel.
constexpr uint32_t kIdleWindows = 2;
// A connection that no process has open may still send for minutes; then its end is reported. If this number of complete walks
// passes without either, the end was lost: the last state change ran where the kernel does not run BPF programs.
constexpr uint32_t kVanishedAfter = 16;

// Counters of sockets are read while they change, and the correction for SYN and FIN varies: they decrease by a few bytes at most.
uint64_t grown(uint64_t from, uint64_t to) {
  return to > from ? to - from : 0;
}
uint32_t grown_mod(uint32_t from, uint32_t to) {
  const uint32_t growth = to - from;  // the counters wrap at 2^32
  return growth < 1u << 31 ? growth : 0;
}

Traffic growth_of(const net_amounts &from, const net_amounts &to) {
  Traffic moved = traffic_of(to);
  moved.in_bytes = grown(from.in_bytes, to.in_bytes);
  moved.out_bytes = grown(from.out_bytes, to.out_bytes);
  moved.in_packets = grown_mod(from.in_packets, to.in_packets);
  moved.out_packets = grown_mod(from.out_packets, to.out_packets);
  moved.retransmits = grown_mod(from.retransmits, to.retransmits);
  return moved;
}

net_amounts largest(net_amounts a, const net_amounts &b) {
  a.in_bytes = std::max(a.in_bytes, b.in_bytes);
  a.out_bytes = std::max(a.out_bytes, b.out_bytes);
  a.in_packets = b.in_packets;
  a.out_packets = b.out_packets;
  a.retransmits = b.retransmits;
  a.rtt_us = b.rtt_us;
  return a;
}

uint64_t place_of(const net_ends &ends) {
  return uint64_t{ends.space} << 16 | ends.local_port;
}

uint64_t key_of_process(const Owner &owner) {
  return (owner.start_ns << 22) ^ static_cast<uint32_t>(owner.pid);  // pids have 22 bits
}

Protocol protocol_of(const net_use &use) {
  if (use.protocol == NET_UNIX) return Protocol::local;
  return use.protocol == IPPROTO_UDP ? Protocol::udp : Protocol::tcp;
}

bool &has(NetProcess &process, Protocol protocol) {
  if (protocol == Protocol::local) return process.local;
  return protocol == Protocol::udp ? process.udp : process.tcp;
}

Traffic &moved_by(NetProcess &process, Protocol protocol) {
  if (protocol == Protocol::local) return process.moved_local;
  return protocol == Protocol::udp ? process.moved_udp : process.moved_tcp;
}

// The peer is unknown.
bool has_no_location(const net_ends &ends) {
  constexpr net_ends kNowhere{};
  return std::memcmp(&ends, &kNowhere, sizeof(ends)) == 0;
}

}  // namespace

void NetProcess::add(const NetProcess &more) {
  connections += more.connections;
  tcp = tcp || more.tcp;
  udp = udp || more.udp;
  local = local || more.local;
  moved_tcp.add(more.moved_tcp);
  moved_udp.add(more.moved_udp);
  moved_local.add(more.moved_local);
  connects += more.connects;
  accepts += more.accepts;
  failures += more.failures;
}

SocketModel::SocketModel(const ModelOptions &options) : options_(options), flows_(options.max_flows) {}

void SocketModel::begin(bool baseline, bool complete) {
  baseline_ = baseline;
  complete_ = complete;
  ++walk_;
  if (complete) {
    ++complete_walks_;
    listening_.clear();
  }
  flows_.clear();
  lost_ = vanished_count_ = 0;
  window_processes_.clear();
  std::erase_if(processes_, [](const auto &entry) { return entry.second.connections == 0; });
  for (auto &[key, process] : processes_) {
    const NetProcess before = process;
    process = {};
    process.owner = before.owner;
    process.connections = before.connections;
    process.tcp = true;
  }
}

void SocketModel::add(const net_record &record) {
  if (record.kind == NET_OPEN) open(record);
  if (record.kind == NET_CLOSED) closed(record);
  if (record.kind == NET_LISTENS) listening_.insert(place_of(record.ends));
}

void SocketModel::open(const net_record &record) {
  restore_vanished(record.cookie);
  const auto [at, fresh] = sockets_.try_emplace(record.cookie);
  Socket &socket = at->second;
  const Owner holder(record.owner);
  socket.flags = record.flags;
  socket.ends = record.ends;
  const bool forgotten = fresh && (record.flags & NET_REPORTED) != 0;
  if (forgotten) ++lost_;
  if (forgotten) socket.counted = true;
  if (forgotten || (fresh && (record.flags & NET_START_SEEN) == 0)) socket.last = record.amounts;
  socket.last_complete_walk = complete_walks_;
  if (socket.walk != walk_) {
    socket.walk = walk_;
    socket.now = record.amounts;
    socket.candidate = holder;
    touched_.push_back(&socket);
    return;
  }
  // If several processes have the socket open, the previous owner keeps it, else the first process gets it.
  socket.now = largest(socket.now, record.amounts);
  if (holder.same_process(socket.owner)) socket.candidate = holder;
}

void SocketModel::end_walk() {
  for (Socket *socket : touched_) count_socket(*socket);
  touched_.clear();
}

void SocketModel::count_socket(Socket &socket) {
  const bool fresh = !std::exchange(socket.counted, true);
  assign_owner(socket, socket.candidate);
  const Traffic moved = growth_of(socket.last, socket.now);
  socket.last = largest(socket.last, socket.now);
  if (!socket.direction) socket.direction = direction_of(socket.ends, socket.flags);
  if (baseline_) return;
  NetProcess &process = process_of(socket.owner);
  process.tcp = true;
  if (!fresh && !options_.amounts) return;
  if (fresh && (socket.flags & NET_START_SEEN) != 0) ++((socket.flags & NET_INCOMING) != 0 ? process.accepts : process.connects);
  count(socket.owner, socket.ends, *socket.direction, moved);
}

void SocketModel::assign_owner(Socket &socket, const Owner &owner) {
  if (socket.owned && socket.owner.same_process(owner)) {
    socket.owner = owner;  // the name may have changed
    process_of(owner).owner = owner;
    return;
  }
  remove_owner(socket);
  socket.owner = owner;
  socket.owned = true;
  ++process_of(owner).connections;
}

void SocketModel::remove_owner(Socket &socket) {
  if (std::exchange(socket.owned, false)) --process_of(socket.owner).connections;
}

void SocketModel::closed(const net_record &record) {
  restore_vanished(record.cookie);
  const auto at = sockets_.find(record.cookie);
  if (at == sockets_.end()) {
    // The traffic before this record was reported, but the last reading is lost: the difference is unknown.
    if ((record.flags & NET_REPORTED) != 0) ++lost_;
    if ((record.flags & NET_REPORTED) == 0 && (record.flags & NET_START_SEEN) != 0) add_brief(record, traffic_of(record.amounts));
    return;
  }
  remove_owner(at->second);
  const net_amounts from = at->second.last;
  const Direction direction = at->second.direction.value_or(direction_of(record.ends, record.flags));
  sockets_.erase(at);
  if (baseline_ || !options_.amounts) return;
  count(Owner(record.owner), record.ends, direction, growth_of(from, largest(from, record.amounts)));
}

void SocketModel::add_brief(const net_record &common, const Traffic &sum) {
  if (baseline_) return;
  const Owner owner(common.owner);
  NetProcess &process = process_of(owner);
  process.tcp = true;
  if ((common.flags & NET_ESTABLISHED) == 0) {
    if ((common.flags & NET_OUTGOING) != 0) process.failures += sum.connections;
    return;
  }
  ((common.flags & NET_INCOMING) != 0 ? process.accepts : process.connects) += sum.connections;
  count(owner, common.ends, direction_of(common.ends, common.flags), sum);
}

void SocketModel::count(const Owner &owner, const net_ends &ends, Direction direction, const Traffic &all) {
  NetProcess &process = process_of(owner);
  process.tcp = true;
  Traffic moved = all;
  if (!options_.amounts) {
    moved = {};
    moved.connections = all.connections;
  } else if (all.bytes() + all.in_packets + all.out_packets == 0) {
    return;
  } else if (options_.tcp_by_call) {
    moved.in_bytes = moved.out_bytes = 0;
  }
  process.moved_tcp.add(moved);
  if (has_no_location(ends))
    flows_.add_others({{}, moved, moved.connections});
  else
    flows_.add(key_of(owner, ends, Protocol::tcp, direction), moved);
}

bool SocketModel::use(const net_use_key &key, const net_use &use, bool is_last) {
  Use &last = uses_[key];
  Traffic moved;
  moved.in_bytes = grown(last.in_bytes, use.in_bytes);
  moved.out_bytes = grown(last.out_bytes, use.out_bytes);
  const uint64_t in_calls = grown(last.in_calls, use.in_calls), out_calls = grown(last.out_calls, use.out_calls);
  last.idle_windows = in_calls + out_calls == 0 ? last.idle_windows + 1 : 0;
  const bool idle = last.idle_windows >= kIdleWindows;
  const uint32_t windows = last.idle_windows;
  last = {use.in_bytes, use.out_bytes, use.in_calls, use.out_calls, windows};
  if (is_last) uses_.erase(key);
  if (baseline_) return idle;

  const Protocol protocol = protocol_of(use);
  NetProcess &process = process_of(Owner(use.owner));
  has(process, protocol) = true;
  if (in_calls + out_calls == 0) return idle;
  if (protocol != Protocol::tcp) {  // for TCP the sockets count segments; otherwise a call is a packet
    moved.in_packets = in_calls;
    moved.out_packets = out_calls;
    moved.connections = 1;
  }
  moved_by(process, protocol).add(moved);
  FlowKey flow = key_of(process.owner, use.ends, protocol, direction_of(key.cookie, use));
  flow.peer = use.peer;
  flows_.add(flow, moved);
  return idle;
}

Direction SocketModel::direction_of(const net_ends &ends, uint32_t flags) const {
  if ((flags & NET_INCOMING) != 0) return Direction::in;
  if ((flags & NET_OUTGOING) != 0) return Direction::out;
  return listening_.contains(place_of(ends)) ? Direction::in : Direction::out;
}

Direction SocketModel::direction_of(uint64_t cookie, const net_use &use) const {
  if (use.protocol == NET_UNIX) return Direction::out;
  if (use.protocol == IPPROTO_UDP) return (use.flags & NET_BOUND) != 0 ? Direction::in : Direction::out;
  const auto at = sockets_.find(cookie);
  return at != sockets_.end() && at->second.direction ? *at->second.direction : direction_of(use.ends, use.flags);
}

FlowKey SocketModel::key_of(const Owner &owner, const net_ends &ends, Protocol protocol, Direction direction) const {
  FlowKey key;
  key.owner = owner;
  key.protocol = protocol;
  key.direction = direction;
  if (protocol == Protocol::local) return key;  // Unix sockets have no addresses
  key.ends = ends;
  if (options_.merge_ports) (direction == Direction::in ? key.ends.remote_port : key.ends.local_port) = 0;
  return key;
}

NetProcess &SocketModel::process_of(const Owner &owner) {
  NetProcess &process = processes_[key_of_process(owner)];
  if (process.owner.pid == 0) process.owner = owner;
  return process;
}

void SocketModel::end() {
  if (complete_) close_vanished();
  for (const auto &[key, process] : processes_)
    if (process.tcp || process.udp || process.local) window_processes_.push_back(&process);
  std::sort(window_processes_.begin(), window_processes_.end(), [](const NetProcess *a, const NetProcess *b) {
    return a->owner.pid != b->owner.pid ? a->owner.pid < b->owner.pid : a->owner.start_ns < b->owner.start_ns;
  });
}

// Closes the sockets that no complete walk has reported for kVanishedAfter walks.
void SocketModel::close_vanished() {
  for (auto at = sockets_.begin(); at != sockets_.end();) {
    const auto here = at++;
    const uint32_t missed = complete_walks_ - here->second.last_complete_walk;
    if (missed == 0) continue;
    remove_owner(here->second);
    if (missed < kVanishedAfter) continue;
    ++vanished_count_;
    keep_vanished(sockets_.extract(here));
  }
}

void SocketModel::keep_vanished(Sockets::node_type node) {
  vanished_order_.push_back(node.key());
  vanished_.insert(std::move(node));
  if (vanished_order_.size() <= options_.max_vanished) return;
  vanished_.erase(vanished_order_.front());
  vanished_order_.pop_front();
}

void SocketModel::restore_vanished(uint64_t cookie) {
  if (vanished_.empty()) return;
  if (auto node = vanished_.extract(cookie)) sockets_.insert(std::move(node));
}

}  // namespace atalaya::net
