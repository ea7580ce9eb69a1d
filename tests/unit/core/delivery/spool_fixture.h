// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/delivery/spool.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::core::test {

inline SpoolLimits limits_in(const std::string &dir) {
  return {.dir = dir,
          .max_bytes = int64_t{64} << 20,
          .min_free_bytes = 0,
          .max_age_ns = 0,
          .sync_ns = 0,
          .when_full = WhenFull::drop_oldest};
}

inline std::unique_ptr<Spool> open_spool(const SpoolLimits &limits) {
  auto spool = Spool::open(limits);
  REQUIRE_MESSAGE(spool.ok(), (spool.ok() ? "" : spool.error()));
  return std::move(*spool);
}

// A payload that contains its number and has a size that depends on it.
inline std::string payload_of(uint64_t number) {
  return "batch " + std::to_string(number) + " " + std::string(100 + number % 7 * 300, static_cast<char>('a' + number % 26));
}
inline uint64_t number_of(const std::string &payload) {
  return std::stoull(payload.substr(6));
}

inline Spool::Put append(Spool &spool, uint64_t number, uint32_t samples = 10, const std::string &pipeline = "p") {
  SpoolDrops drops;
  return spool.append(pipeline, samples, payload_of(number), drops).put;
}

// Takes and delivers everything; the numbers in order.
inline std::vector<uint64_t> drain(Spool &spool, SpoolDrops *dropped = nullptr) {
  std::vector<uint64_t> numbers;
  for (;;) {
    SpoolDrops drops;
    const auto entry = spool.take(drops);
    if (dropped != nullptr) dropped->insert(dropped->end(), drops.begin(), drops.end());
    if (!entry) return numbers;
    numbers.push_back(number_of(entry->payload));
    CHECK(entry->payload == payload_of(numbers.back()));
    spool.settle({.delivered = entry->samples, .dead_letter = 0, .dropped = {}});
  }
}

inline SpoolCounts counts_of(const Spool &spool, const std::string &pipeline = "p") {
  for (const SpoolCounts &counts : spool.counts())
    if (counts.pipeline == pipeline) return counts;
  return {};
}

inline std::vector<std::string> segments_in(const std::string &dir) {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(dir))
    if (entry.path().extension() == ".seg") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::string read_all(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
inline void write_all(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline std::vector<uint64_t> numbers(uint64_t from, uint64_t to) {
  std::vector<uint64_t> list;
  for (uint64_t i = from; i < to; ++i) list.push_back(i);
  return list;
}

}  // namespace atalaya::core::test
