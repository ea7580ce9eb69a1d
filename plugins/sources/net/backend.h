// SPDX-License-Identifier: Apache-2.0
// Where the facts about sockets come from: programs in the kernel (BPF), or what it tells everybody (sock_diag). Both speak in the
// records of bpf/net.h.
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

// Whose calls are counted, and how the kernel tells them.
struct BackendOptions {
  bool udp = false;
  bool tcp_by_call = false;  // and Unix sockets
  bool every_call = false;   // each by itself, not sums
  size_t buffer = size_t{1} << 20;
  size_t uses = 65536;      // pairs of process and socket whose calls are counted
  bool merge_ports = true;  // of brief connections between the same ends
};

struct Lost {
  uint64_t records = 0;  // there was no room to tell
  uint64_t calls = 0;    // there was no room to count
};

class Backend {
 public:
  virtual ~Backend() = default;

  using Take = std::function<void(const net_record &)>;
  // Every connection that has changed since the last walk, by each process that holds it; all of them when it is `whole`.
  virtual void walk(bool whole, const Take &take) = 0;
  // Connections that no walk has met, of one process, between the same ends and with the same flags: amounts and cookie of the
  // record are 0.
  using TakeBrief = std::function<void(const net_record &like, const Traffic &together)>;
  // The connections that have ended since the last call, where it knows.
  virtual void take_ends(const Take &take, const TakeBrief &take_brief) = 0;

  // What each process has moved through each socket by its calls: amounts since the first. When it answers true, the use is
  // forgotten and told once more, as `gone`, with what may have come meanwhile; the next call begins another from 0.
  using TakeUse = std::function<bool(const net_use_key &, const net_use &, bool gone)>;
  virtual void take_uses(const TakeUse &take) = 0;

  // Since the start.
  virtual Lost lost() const = 0;
  // Whether it tells them all, and of each whether it had begun under its eyes.
  virtual bool sees_ends() const = 0;
  // What it has to do without here, and why; empty: nothing.
  virtual std::string_view lacks() const { return {}; }
};

// A sentence when it does not work here.
core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options);

}  // namespace atalaya::net
