// SPDX-License-Identifier: Apache-2.0
// Parses records of a perf ring buffer (perf_event_open(2)) whose events have PERF_SAMPLE_TID |
// TIME | CALLCHAIN and sample_id_all. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace atalaya::perf {

struct RingRecord {
  enum class Type : uint8_t { sample, comm, exec, exit, lost } type = Type::sample;
  int32_t pid = 0, tid = 0;
  uint64_t time_ns = 0;  // time in the clock of the event
  uint64_t lost = 0;
  std::string comm;
  std::vector<uint64_t> kernel, user;  // leaf first
};

// Parses one record with its header; empty for other types and malformed records.
std::optional<RingRecord> parse_record(std::span<const std::byte> bytes);

// The record at `position` of a ring whose size is a power of two, copied to `joined`; empty when
// `head` comes first or the record is damaged.
std::span<const std::byte> record_at(std::span<const std::byte> ring, uint64_t position, uint64_t head,
                                     std::vector<std::byte> &joined);

}  // namespace atalaya::perf
