// SPDX-License-Identifier: Apache-2.0
// The source of socket data: BPF programs, or the sock_diag interface. Both return records of bpf/net.h.
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

// Selects the calls to count, and the form of their records.
struct BackendOptions {
  bool udp = false;
  bool tcp_by_call = false;  // also Unix sockets
  bool every_call = false;   // a record per call instead of sums
  size_t buffer = size_t{1} << 20;
  size_t uses = 65536;      // pairs of process and socket whose calls are counted, and for UDP as many with a peer
  bool merge_ports = true;  // sum brief connections between the same ends, and datagrams of a server's peers by address
};

struct Lost {
  uint64_t records = 0;  // without room in the ring
  uint64_t calls = 0;    // without room in the map
};

class Backend {
 public:
  virtual ~Backend() = default;

  using Take = std::function<void(const net_record &)>;
  // Every connection that changed since the last walk, for each process that holds it; with `whole`, all connections.
  virtual void walk(bool whole, const Take &take) = 0;
  // Connections that no walk has seen, of one process, between the same ends and with the same flags: amounts and cookie of the
  // record are 0.
  using TakeBrief = std::function<void(const net_record &like, const Traffic &together)>;
  // The connections that ended since the last call, as far as they are known.
  virtual void take_ends(const Take &take, const TakeBrief &take_brief) = 0;

  // Traffic of each process through each socket, for UDP with each peer, by system calls: amounts since the first call. When `take`
  // returns true, the use is forgotten and reported once more, with `gone` set and the final amounts; the next call starts a new
  // use from 0.
  using TakeUse = std::function<bool(const net_use_key &, const net_use &, bool gone)>;
  virtual void take_uses(const TakeUse &take) = 0;

  // Since the start.
  virtual Lost lost() const = 0;
  // Whether it reports all ends, and for each whether it saw the beginning.
  virtual bool sees_ends() const = 0;
  // Whether it counts system calls, if the options ask for it.
  virtual bool counts_calls() const { return false; }
  // Missing features on this host and the reason; empty: none.
  virtual std::string_view limitation() const { return {}; }
};

// The error says why it does not work here.
core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options);

}  // namespace atalaya::net
