// SPDX-License-Identifier: Apache-2.0
// Interface of the two readers of socket data, BPF and sock_diag. Both return the records of
// bpf/net.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "bpf/net.h"
#include "core/base/result.h"
#include "plugins/sources/net/flow_table.h"

namespace atalaya::net {

// Selects the system calls to count and the granularity of their records.
struct BackendOptions {
  bool udp = false;
  bool tcp_by_call = false;  // count TCP and Unix traffic by system calls
  bool every_call = false;   // one record per call instead of sums
  size_t buffer = size_t{1} << 20;
  size_t max_uses = 65536;  // maximum counted pairs of process and socket, and of triples with a UDP peer
  bool merge_ports = true;  // sum brief connections by address, and a server's datagrams by peer address
};

struct Lost {
  uint64_t records = 0;  // records lost because the ring was full
  uint64_t calls = 0;    // calls not counted because the map was full
};

class Backend {
 public:
  virtual ~Backend() = default;

  using Callback = std::function<void(const net_record &)>;
  // Reports each connection that changed since the last walk, once per process that has it open; with `complete` all connections.
  virtual void walk(bool complete, const Callback &take) = 0;
  // Receives the traffic `sum` of connections that started and ended between two walks and have one process, address pair and
  // flags. `common` contains these, without amounts and cookie.
  using OnBrief = std::function<void(const net_record &common, const Traffic &sum)>;
  // Reports the connections that ended since the last call, if the backend sees ends.
  virtual void report_ends(const Callback &take, const OnBrief &on_brief) = 0;

  // Reports the traffic of each process through each socket (UDP: per peer), counted by system calls since the first one. If `take`
  // returns true, the backend deletes the entry and reports it a last time with its final amounts and `is_last` set; a later
  // system call starts a new entry at 0.
  using UseCallback = std::function<bool(const net_use_key &, const net_use &, bool is_last)>;
  virtual void report_uses(const UseCallback &take) = 0;

  // Losses since the start.
  virtual Lost lost() const = 0;
  // Returns true if the backend reports all ends of connections, and for each whether it saw the start.
  virtual bool sees_ends() const = 0;
  // Returns true if the backend counts system calls when the options select it.
  virtual bool counts_calls() const { return false; }
  // Missing features on this host and the reason; empty: none.
  virtual std::string_view limitation() const { return {}; }
};

// Opens the BPF backend; the error names the missing kernel feature or permission.
core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options);

}  // namespace atalaya::net
