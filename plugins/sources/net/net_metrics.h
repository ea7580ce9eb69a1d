// SPDX-License-Identifier: Apache-2.0
// The metrics of the source "net": what each is called, and which number it shows.
#pragma once

#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace atalaya::net {

using namespace atalaya::literals;

inline constexpr MetricTag kProcessTags[] = {
    {"host"_str, ATALAYA_TAG_IDENTITY, 0}, {"pid"_str, ATALAYA_TAG_IDENTITY, 0}, {"process"_str, ATALAYA_TAG_IDENTITY, 0}};
inline constexpr MetricTag kFlowTags[] = {
    {"host"_str, ATALAYA_TAG_IDENTITY, 0},     {"pid"_str, ATALAYA_TAG_IDENTITY, 0},       {"process"_str, ATALAYA_TAG_IDENTITY, 0},
    {"local"_str, ATALAYA_TAG_IDENTITY, 0},    {"remote"_str, ATALAYA_TAG_IDENTITY, 0},    {"port"_str, ATALAYA_TAG_IDENTITY, 0},
    {"protocol"_str, ATALAYA_TAG_IDENTITY, 0}, {"direction"_str, ATALAYA_TAG_IDENTITY, 0}, {"netns"_str, ATALAYA_TAG_EXTRA, 0},
};

template <size_t size>
constexpr Metric metric(const MetricTag (&tags)[size], atalaya_str name, atalaya_str unit, uint32_t kind, int32_t decimals,
                        atalaya_str source, atalaya_str summary) {
  return {.name = name,
          .unit = unit,
          .kind = kind,
          .decimals = decimals,
          .tags = tags,
          .tag_count = size,
          .tag_size = sizeof(MetricTag),
          .source = source,
          .summary = summary};
}
constexpr Metric process_rate(atalaya_str name, atalaya_str unit, int32_t decimals, atalaya_str source, atalaya_str summary) {
  return metric(kProcessTags, name, unit, ATALAYA_RATE, decimals, source, summary);
}
constexpr Metric process_count(atalaya_str name, atalaya_str source, atalaya_str summary) {
  return metric(kProcessTags, name, "1"_str, ATALAYA_DELTA, -1, source, summary);
}
constexpr Metric flow_amount(atalaya_str name, atalaya_str unit, atalaya_str source, atalaya_str summary) {
  return metric(kFlowTags, name, unit, ATALAYA_DELTA, -1, source, summary);
}

enum class Show : uint8_t {
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
  flow_in_bytes,
  flow_in_packets,
  flow_out_bytes,
  flow_out_packets,
  flow_retransmits,
  flow_connections,
  flow_rtt,
  flow_merged,
};
constexpr size_t kShown = 27;

// In the order of Show.
inline constexpr std::array<Metric, kShown> kNetMetrics = {{
    process_rate("proc.net.tcp.in.mb"_str, "Mibit/s"_str, 4, "tcp_sock.bytes_received"_str, "Payload received, in order."_str),
    process_rate("proc.net.tcp.in.packets"_str, "1/s"_str, 2, "tcp_sock.segs_in"_str,
                 "Segments received, those without payload too."_str),
    process_rate("proc.net.tcp.out.mb"_str, "Mibit/s"_str, 4, "tcp_sock.bytes_acked"_str,
                 "Payload sent and acknowledged; what is sent again counts once."_str),
    process_rate("proc.net.tcp.out.packets"_str, "1/s"_str, 2, "tcp_sock.segs_out"_str,
                 "Segments sent, those without payload and repetitions too."_str),
    process_rate("proc.net.tcp.retransmits"_str, "1/s"_str, 2, "tcp_sock.total_retrans"_str, "Segments sent again."_str),
    metric(kProcessTags, "proc.net.tcp.rtt"_str, "ms"_str, ATALAYA_GAUGE, 3, "tcp_sock.srtt_us"_str,
           "Smoothed round-trip time, mean of the connections that moved something."_str),
    metric(kProcessTags, "proc.net.tcp.connections"_str, "1"_str, ATALAYA_GAUGE, -1, "the files of the processes"_str,
           "Open connections."_str),
    process_count("proc.net.tcp.connects"_str, "inet_sock_set_state"_str, "Connections opened in the window."_str),
    process_count("proc.net.tcp.accepts"_str, "inet_sock_set_state"_str, "Connections taken in the window."_str),
    process_count("proc.net.tcp.failures"_str, "inet_sock_set_state"_str,
                  "Connections that were asked for and did not come about in the window."_str),
    process_rate("proc.net.udp.in.mb"_str, "Mibit/s"_str, 4, "sock_recv_length"_str, "Payload received."_str),
    process_rate("proc.net.udp.in.packets"_str, "1/s"_str, 2, "sock_recv_length"_str,
                 "Datagrams received: calls that gave some."_str),
    process_rate("proc.net.udp.out.mb"_str, "Mibit/s"_str, 4, "sock_send_length"_str, "Payload sent."_str),
    process_rate("proc.net.udp.out.packets"_str, "1/s"_str, 2, "sock_send_length"_str,
                 "Datagrams sent: calls; one call with segmentation offload counts once."_str),
    process_rate("proc.net.unix.in.mb"_str, "Mibit/s"_str, 4, "sock_recv_length"_str, "Received by Unix sockets."_str),
    process_rate("proc.net.unix.in.packets"_str, "1/s"_str, 2, "sock_recv_length"_str, "Calls that received by them."_str),
    process_rate("proc.net.unix.out.mb"_str, "Mibit/s"_str, 4, "sock_send_length"_str, "Sent by Unix sockets."_str),
    process_rate("proc.net.unix.out.packets"_str, "1/s"_str, 2, "sock_send_length"_str, "Calls that sent by them."_str),
    process_count("proc.net.lost"_str, "the buffers in the kernel"_str,
                  "Ends of connections and calls in the window that there was no room for; of the process unattributed."_str),
    flow_amount("flow.in.bytes"_str, "By"_str, "as proc.net.*.in.mb"_str, "Payload received in the window."_str),
    flow_amount("flow.in.packets"_str, "1"_str, "as proc.net.*.in.packets"_str, "Segments or datagrams received."_str),
    flow_amount("flow.out.bytes"_str, "By"_str, "as proc.net.*.out.mb"_str, "Payload sent in the window."_str),
    flow_amount("flow.out.packets"_str, "1"_str, "as proc.net.*.out.packets"_str, "Segments or datagrams sent."_str),
    flow_amount("flow.retransmits"_str, "1"_str, "tcp_sock.total_retrans"_str, "Segments sent again; of TCP."_str),
    flow_amount("flow.connections"_str, "1"_str, "as flow.in.bytes"_str,
                "Connections that moved something in the window; with mode connections those that began."_str),
    metric(kFlowTags, "flow.rtt"_str, "ms"_str, ATALAYA_GAUGE, 3, "tcp_sock.srtt_us"_str,
           "Smoothed round-trip time, mean of these connections; of TCP."_str),
    flow_amount("flow.merged"_str, "1"_str, "parameter max_flows"_str, "Of the process other: how many flows it stands for."_str),
}};

}  // namespace atalaya::net
