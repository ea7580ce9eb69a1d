// SPDX-License-Identifier: Apache-2.0
// Records as the BPF programs emit them.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "bpf/net.h"

namespace atalaya::net {

inline net_owner owner(int32_t pid, std::string_view name, uint64_t start_ns = 1'000'000'000) {
  net_owner owner{};
  owner.pid = pid;
  owner.start_ns = start_ns;
  std::memcpy(owner.comm, name.data(), name.size());
  return owner;
}

inline net_ends ends(uint8_t local, uint16_t local_port, uint8_t remote, uint16_t remote_port) {
  net_ends ends{};
  for (auto *address : {&ends.local, &ends.remote}) (*address)[10] = (*address)[11] = 0xff;
  ends.local[12] = ends.remote[12] = 10;
  ends.local[15] = local;
  ends.remote[15] = remote;
  ends.local_port = local_port;
  ends.remote_port = remote_port;
  return ends;
}

inline net_record record(uint32_t kind, uint64_t cookie, const net_owner &who, uint32_t flags, uint64_t in_bytes,
                         uint64_t out_bytes) {
  net_record record{};
  record.kind = kind;
  record.cookie = cookie;
  record.owner = who;
  record.flags = flags;
  record.protocol = IPPROTO_TCP;
  record.ends = ends(1, 40000, 2, 80);
  record.amounts.in_bytes = in_bytes;
  record.amounts.out_bytes = out_bytes;
  record.amounts.in_packets = static_cast<uint32_t>(in_bytes / 100 + 1);
  record.amounts.out_packets = static_cast<uint32_t>(out_bytes / 100 + 1);
  record.amounts.rtt_us = 2000;
  return record;
}

}  // namespace atalaya::net
