// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/sampling/ring_records.h"

#include <doctest/doctest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <string>

namespace atalaya::perf {
namespace {

class Maker {
 public:
  Maker(uint32_t type, uint16_t misc) { put(perf_event_header{type, misc, 0}); }
  template <class T>
  Maker &put(const T &value) {
    const size_t used = bytes_.size();
    bytes_.resize(used + sizeof(value));
    std::memcpy(bytes_.data() + used, &value, sizeof(value));
    return *this;
  }
  std::vector<std::byte> bytes() {
    const auto size = static_cast<uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(perf_event_header, size), &size, sizeof(size));
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

constexpr auto kKernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL), kUser = static_cast<uint64_t>(PERF_CONTEXT_USER);

std::vector<std::byte> a_sample() {
  return Maker(PERF_RECORD_SAMPLE, 0)
      .put(7)
      .put(8)
      .put(uint64_t{99})
      .put(uint64_t{5})
      .put(kKernel)
      .put(uint64_t{1})
      .put(kUser)
      .put(uint64_t{2})
      .put(uint64_t{3})
      .bytes();
}

}  // namespace

TEST_CASE("a sample's frames are the kernel's and the program's") {
  const auto record = parse_record(a_sample());
  REQUIRE(record);
  CHECK(record->pid == 7);
  CHECK(record->tid == 8);
  CHECK(record->time_ns == 99);
  CHECK(record->kernel == std::vector<uint64_t>{1});
  CHECK(record->user == std::vector<uint64_t>{2, 3});
}

TEST_CASE("names, ends and losses") {
  const std::array<char, 8> name = {'s', 'h'};
  const auto exec = parse_record(
      Maker(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).put(7).put(7).put(name).put(7).put(7).put(uint64_t{5}).bytes());
  REQUIRE(exec);
  CHECK(exec->type == RingRecord::Type::exec);
  CHECK(exec->comm == "sh");
  CHECK(exec->time_ns == 5);
  const auto exit = parse_record(Maker(PERF_RECORD_EXIT, 0).put(7).put(1).put(7).put(1).put(uint64_t{6}).bytes());
  REQUIRE(exit);
  CHECK(exit->type == RingRecord::Type::exit);
  CHECK(exit->time_ns == 6);
  const auto lost = parse_record(Maker(PERF_RECORD_LOST, 0).put(uint64_t{1}).put(uint64_t{44}).bytes());
  REQUIRE(lost);
  CHECK(lost->lost == 44);
}

TEST_CASE("a record that is cut is none") {
  std::vector<std::byte> bytes = a_sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    if (size >= sizeof(perf_event_header)) {
      const auto said = static_cast<uint16_t>(size);
      std::memcpy(cut.data() + offsetof(perf_event_header, size), &said, sizeof(said));
    }
    CHECK_FALSE(parse_record(cut));
  }
}

TEST_CASE("a record may lie across the end of the ring") {
  const std::vector<std::byte> record = a_sample();
  std::vector<std::byte> ring(128);
  const uint64_t position = 128 * 5 + 100;
  for (size_t i = 0; i < record.size(); ++i) ring[(position + i) % ring.size()] = record[i];
  std::vector<std::byte> joined;
  const auto found = record_at(ring, position, position + record.size(), joined);
  CHECK(std::vector<std::byte>(found.begin(), found.end()) == record);
  CHECK(record_at(ring, position, position + record.size() - 1, joined).empty());
  CHECK(record_at(ring, position, position, joined).empty());
}

}  // namespace atalaya::perf
