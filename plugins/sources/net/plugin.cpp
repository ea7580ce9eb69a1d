// SPDX-License-Identifier: Apache-2.0
// The source "net": traffic by process and peer, from the counters of the kernel's sockets.
#include <atalaya/plugin.hpp>

#include "plugins/sources/net/collector.h"
#include "plugins/sources/net/net_metrics.h"

namespace atalaya::net {
namespace {

CollectorOptions options_of(const Host &host) {
  CollectorOptions options;
  options.backend = host.text("backend");
  options.processes = host.boolean("processes");
  options.flows = host.boolean("flows");
  options.exited_groups = static_cast<size_t>(host.integer("exited_groups"));
  const std::string mode = host.text("mode");
  options.model.amounts = mode != "connections";
  options.sockets.every_call = mode == "events";
  options.sockets.tcp_by_call = options.model.amounts && (options.sockets.every_call || host.text("attribution") == "syscall");
  options.sockets.udp = options.model.amounts && (host.boolean("udp") || options.sockets.tcp_by_call);
  options.sockets.buffer = static_cast<size_t>(host.integer("buffer"));
  options.sockets.max_uses = static_cast<size_t>(host.integer("calls"));
  options.model.merge_ports = options.sockets.merge_ports = host.text("ports") == "merge";
  options.model.tcp_by_call = options.sockets.tcp_by_call;
  options.model.max_flows = static_cast<size_t>(host.integer("max_flows"));
  return options;
}

class Net final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::boolean("processes", "Emit a sample per process with connections").defaults("true"),
      param::boolean("flows", "Emit a sample per flow: traffic of a process between two addresses and a port").defaults("true"),
      param::choice("backend", "auto|bpf|diag", "How sockets are read: BPF programs or sock_diag; auto: bpf where it works")
          .defaults("auto"),
      param::choice(
          "mode", "accounting|connections|events",
          "accounting: bytes per window; connections: only connects and closes; events: a record of each send and receive")
          .defaults("accounting"),
      param::choice(
          "attribution", "socket|syscall",
          "Process charged with TCP bytes: the holder of the socket, or the caller (also shared and Unix sockets; costs more)")
          .defaults("socket"),
      param::boolean("udp", "Include UDP, by a hook in each send and receive (Linux 6.3); always on with attribution = \"syscall\"")
          .defaults("false"),
      param::choice("ports", "merge|all", "merge: one flow per server port; all: one flow per pair of ports").defaults("merge"),
      param::integer("max_flows", "Maximum flows per window, by bytes; the rest is the process other")
          .defaults("10000")
          .range(1, 1000000),
      param::integer("exited_groups", "Maximum groups (name, cgroup) of ended processes per window; the rest is the process other")
          .defaults("100")
          .range(1, 10000),
      param::size("buffer", "Size of the kernel's ring for connections and events; overflow is counted in proc.net.lost")
          .defaults("1 MiB")
          .range(65536, 1073741824),
      param::integer("calls",
                     "Maximum pairs of process and socket per window whose calls are counted, and for UDP of these with a peer. "
                     "More flows are the process other, more peers are unknown, other losses count in proc.net.lost.")
          .defaults("65536")
          .range(64, 4194304),
  };
  static constexpr auto metrics = kNetMetrics;
  static constexpr Need needs[] = {
      need::optional_capability(
          "CAP_BPF", "sockets are read by sock_diag: no UDP, other network namespaces and connections shorter than a window",
          "bpf"),
      need::optional_capability("CAP_PERFMON", "same effect as missing CAP_BPF", "bpf"),
      need::optional_file("/sys/kernel/btf/vmlinux", "same effect as missing CAP_BPF", "bpf"),
      need::optional_capability("CAP_BPF", "no UDP", "peers"),
      need::optional_capability("CAP_PERFMON", "no UDP", "peers"),
      need::optional_capability("CAP_NET_ADMIN", "with UDP: the peers of unconnected sockets are unknown", "peers"),
  };
  static constexpr Description description = {.name = "net"_str,
                                              .summary = "Network traffic by process and by peer, from the kernel's sockets"_str,
                                              .params = params,
                                              .metrics = metrics,
                                              .needs = needs};

  explicit Net(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::net

ATALAYA_PLUGIN("net", "0.1.0", "source net", atalaya::net::Net)
