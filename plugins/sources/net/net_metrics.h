// SPDX-License-Identifier: Apache-2.0
// The metrics of the source "net".
#pragma once

#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace atalaya::net {

inline constexpr MetricTag kProcessTags[] = {metric::identity("host"), metric::identity("pid"), metric::identity("process"),
                                             metric::identity("cgroup")};
inline constexpr MetricTag kFlowTags[] = {metric::identity("host"),   metric::identity("pid"),      metric::identity("process"),
                                          metric::identity("cgroup"), metric::identity("local"),    metric::identity("remote"),
                                          metric::identity("port"),   metric::identity("protocol"), metric::identity("direction"),
                                          metric::extra("netns")};

enum class NetMetric : uint8_t {
  tcp_in_mb,
  tcp_in_packets,
  tcp_out_mb,
  tcp_out_packets,
  tcp_retransmits,
  tcp_rtt,
  tcp_connections,
  tcp_connects,
  tcp_accepts,
  tcp_failures,
  udp_in_mb,
  udp_in_packets,
  udp_out_mb,
  udp_out_packets,
  local_in_mb,
  local_in_packets,
  local_out_mb,
  local_out_packets,
  lost,
  vanished,
  flow_in_bytes,
  flow_in_packets,
  flow_out_bytes,
  flow_out_packets,
  flow_retransmits,
  flow_connections,
  flow_rtt,
  flow_merged,
};
constexpr size_t kNetMetricCount = 28;

// In the order of the enum NetMetric.
inline constexpr std::array<Metric, kNetMetricCount> kNetMetrics = {{
    metric::rate("proc.net.tcp.in.mb", "Mibit/s", 4, kProcessTags, "tcp_sock.bytes_received", "Payload received, in order"),
    metric::rate("proc.net.tcp.in.packets", "/s", 2, kProcessTags, "tcp_sock.segs_in", "Segments received, also without payload"),
    metric::rate("proc.net.tcp.out.mb", "Mibit/s", 4, kProcessTags, "tcp_sock.bytes_acked",
                 "Payload sent and acknowledged; retransmissions do not count"),
    metric::rate("proc.net.tcp.out.packets", "/s", 2, kProcessTags, "tcp_sock.segs_out",
                 "Segments sent, also without payload and retransmissions"),
    metric::rate("proc.net.tcp.retransmits", "/s", 2, kProcessTags, "tcp_sock.total_retrans", "Segments retransmitted"),
    metric::gauge("proc.net.tcp.rtt", "ms", 3, kProcessTags, "tcp_sock.srtt_us",
                  "Smoothed round-trip time, mean over the active connections"),
    metric::gauge("proc.net.tcp.connections", "1", metric::count, kProcessTags, "the files of the processes", "Open connections"),
    metric::delta("proc.net.tcp.connects", "1", metric::count, kProcessTags, "inet_sock_set_state",
                  "Connections opened in the window"),
    metric::delta("proc.net.tcp.accepts", "1", metric::count, kProcessTags, "inet_sock_set_state",
                  "Connections accepted in the window"),
    metric::delta("proc.net.tcp.failures", "1", metric::count, kProcessTags, "inet_sock_set_state",
                  "Connection attempts that failed in the window"),
    metric::rate("proc.net.udp.in.mb", "Mibit/s", 4, kProcessTags, "sock_recv_length", "Payload received"),
    metric::rate("proc.net.udp.in.packets", "/s", 2, kProcessTags, "sock_recv_length",
                 "Datagrams received: receive calls that returned data"),
    metric::rate("proc.net.udp.out.mb", "Mibit/s", 4, kProcessTags, "sock_send_length", "Payload sent"),
    metric::rate("proc.net.udp.out.packets", "/s", 2, kProcessTags, "sock_send_length",
                 "Datagrams sent: send calls; with segmentation offload a call counts once"),
    metric::rate("proc.net.unix.in.mb", "Mibit/s", 4, kProcessTags, "sock_recv_length", "Data received by Unix sockets"),
    metric::rate("proc.net.unix.in.packets", "/s", 2, kProcessTags, "sock_recv_length", "Receive calls on Unix sockets"),
    metric::rate("proc.net.unix.out.mb", "Mibit/s", 4, kProcessTags, "sock_send_length", "Data sent by Unix sockets"),
    metric::rate("proc.net.unix.out.packets", "/s", 2, kProcessTags, "sock_send_length", "Send calls on Unix sockets"),
    metric::delta(
        "proc.net.lost", "1", metric::count, kProcessTags, "the buffers in the kernel",
        "Connection ends and calls lost in the window because a buffer was full; of the process unattributed, in each window"),
    metric::delta("proc.net.vanished", "1", metric::count, kProcessTags, "the walks and inet_sock_set_state",
                  "TCP connections closed from their last reading: no process holds them, no end was reported; unattributed"),
    metric::delta("flow.in.bytes", "By", metric::count, kFlowTags, "as proc.net.*.in.mb", "Payload received in the window"),
    metric::delta("flow.in.packets", "1", metric::count, kFlowTags, "as proc.net.*.in.packets", "Segments or datagrams received"),
    metric::delta("flow.out.bytes", "By", metric::count, kFlowTags, "as proc.net.*.out.mb", "Payload sent in the window"),
    metric::delta("flow.out.packets", "1", metric::count, kFlowTags, "as proc.net.*.out.packets", "Segments or datagrams sent"),
    metric::delta("flow.retransmits", "1", metric::count, kFlowTags, "tcp_sock.total_retrans", "TCP segments retransmitted"),
    metric::delta("flow.connections", "1", metric::count, kFlowTags, "as flow.in.bytes",
                  "Active connections in the window; with mode = \"connections\", connections that began"),
    metric::gauge("flow.rtt", "ms", 3, kFlowTags, "tcp_sock.srtt_us",
                  "Smoothed round-trip time of TCP, mean over the active connections"),
    metric::delta("flow.merged", "1", metric::count, kFlowTags, "parameter max_flows", "Flows merged into the process other"),
}};

}  // namespace atalaya::net
