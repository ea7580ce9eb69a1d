// SPDX-License-Identifier: Apache-2.0
// The source "net": who talks to whom, by process, from the counters of the kernel's own sockets.
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
  options.sockets.uses = static_cast<size_t>(host.integer("calls"));
  options.model.merge_ports = options.sockets.merge_ports = host.text("ports") == "merge";
  options.model.tcp_by_call = options.sockets.tcp_by_call;
  options.model.max_flows = static_cast<size_t>(host.integer("max_flows"));
  return options;
}

class Net final : public Source {
 public:
  static constexpr Param params[] = {
      {.name = "processes"_str,
       .type = ATALAYA_BOOL,
       .default_text = "true"_str,
       .summary = "A sample of each process that has connections."_str},
      {.name = "flows"_str,
       .type = ATALAYA_BOOL,
       .default_text = "true"_str,
       .summary = "A sample of each flow: what a process moved between two addresses and a port in the window."_str},
      {.name = "backend"_str,
       .type = ATALAYA_ENUM,
       .default_text = "auto"_str,
       .allowed = "auto|bpf|diag"_str,
       .summary =
           "How sockets are read: by programs in the kernel (bpf) or by asking it (diag); auto takes bpf where it works."_str},
      {.name = "mode"_str,
       .type = ATALAYA_ENUM,
       .default_text = "accounting"_str,
       .allowed = "accounting|connections|events"_str,
       .summary = "accounting reads sums; connections tells only that connections begin and end; events has every send and receive "
                  "told by itself, to compare what that costs."_str},
      {.name = "attribution"_str,
       .type = ATALAYA_ENUM,
       .default_text = "socket"_str,
       .allowed = "socket|syscall"_str,
       .summary =
           "Whose TCP bytes are: of who holds the socket, at no cost to the data; or of who calls, by a hook in each send and "
           "receive, which also divides shared sockets and counts Unix sockets."_str},
      {.name = "udp"_str,
       .type = ATALAYA_BOOL,
       .default_text = "false"_str,
       .summary = "UDP too, by a hook in each send and receive of any socket (Linux 6.3); with attribution syscall always."_str},
      {.name = "ports"_str,
       .type = ATALAYA_ENUM,
       .default_text = "merge"_str,
       .allowed = "merge|all"_str,
       .summary = "merge sums the connections to one port; all shows each by both its ports, behind the addresses."_str},
      {.name = "max_flows"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10000"_str,
       .summary = "At most so many flows a window, those with the most bytes; the rest together is the process other."_str,
       .min = 1,
       .max = 1000000},
      {.name = "exited_groups"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "100"_str,
       .summary = "At most so many names of processes that have ended in the window; the rest together is the process other."_str,
       .min = 1,
       .max = 10000},
      {.name = "buffer"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1 MiB"_str,
       .summary = "The ring that the kernel tells connections and events by; what does not fit is counted in proc.net.lost."_str,
       .min = 65536,
       .max = 1073741824},
      {.name = "calls"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "65536"_str,
       .summary = "Pairs of process and socket whose calls are counted at once, and in a window ends of connections that were told "
                  "before, and "
                  "flows of those that were not; more are counted in proc.net.lost."_str,
       .min = 64,
       .max = 4194304},
  };
  static constexpr auto metrics = kNetMetrics;
  static constexpr Need needs[] = {
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_BPF"_str,
       "sockets are asked for by sock_diag: without UDP, other network namespaces, and what ends within a window"_str, "bpf"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "as without CAP_BPF"_str, "bpf"_str},
      {ATALAYA_NEED_FILE, 1, "/sys/kernel/btf/vmlinux"_str, "as without CAP_BPF"_str, "bpf"_str},
  };
  static constexpr Description description = {.name = "net"_str,
                                              .summary = "Network traffic by process and by peer, from the kernel's sockets"_str,
                                              .params = params,
                                              .metrics = metrics,
                                              .needs = needs};

  explicit Net(Host host) : collector_(host, options_of(host)) {}
  void start() override { collector_.start(); }
  void stop() override { collector_.stop(); }
  Code collect(const Window &window, Batch &batch) override {
    collector_.collect(window, batch);
    return Code::ok;
  }

 private:
  Collector collector_;
};

}  // namespace
}  // namespace atalaya::net

ATALAYA_PLUGIN("net", "0.1.0", "source net", atalaya::net::Net)
