// SPDX-License-Identifier: Apache-2.0
// Files cut off and changed at every place: whole records are delivered, damaged ones are counted.
#include <algorithm>
#include <cstring>

#include "core/base/encode/crc32c.h"
#include "tests/unit/core/delivery/spool_fixture.h"

using namespace atalaya::core;
using namespace atalaya::core::test;
using atalaya::testing::TemporaryFolder;

namespace {

constexpr uint64_t kBatches = 12;
constexpr uint64_t kSamples = 10;

// A spool with two segments, closed; `taken` of its batches are delivered.
void make_spool(const std::string &dir, uint64_t taken) {
  for (uint64_t part = 0; part < 2; ++part) {
    const auto spool = open_spool(limits_in(dir));
    for (uint64_t i = part * kBatches / 2; i < (part + 1) * kBatches / 2; ++i)
      append(*spool, i, kSamples, i % 2 == 0 ? "even" : "odd");
    SpoolDrops drops;
    for (uint64_t i = 0; part == 1 && i < taken; ++i) {
      REQUIRE(spool->take(drops));
      spool->settle({.delivered = kSamples, .dead_letter = 0, .dropped = {}});
    }
  }
}

struct Left {
  std::vector<uint64_t> got;
  uint64_t delivered = 0, damaged = 0, accepted = 0, queued = 0;
};

Left reopen(const std::string &dir) {
  const auto spool = open_spool(limits_in(dir));
  Left left;
  left.got = drain(*spool);
  // It still works: new records are delivered, too.
  append(*spool, 1000, kSamples, "even");
  CHECK(drain(*spool) == numbers(1000, 1001));
  for (const SpoolCounts &counts : spool->counts()) {
    left.delivered += counts.delivered;
    left.damaged += counts.dropped_total();
    left.accepted += counts.delivered + counts.dropped_total() + counts.queued();
    left.queued += counts.queued();
  }
  return left;
}

void copy(const std::string &from, const std::string &to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace

TEST_CASE("a bit flipped anywhere in a segment costs one batch at most, and exactly that is counted") {
  const TemporaryFolder folder;
  for (const uint64_t taken : {uint64_t{0}, uint64_t{2}}) {
    make_spool(folder / ("whole" + std::to_string(taken)), taken);
    const std::string whole = folder / ("whole" + std::to_string(taken));
    const auto segments = segments_in(whole);
    REQUIRE(segments.size() == 2);
    for (const std::string &segment : segments) {
      const std::string bytes = read_all(segment);
      for (size_t at = 0; at < bytes.size(); at += at < 300 ? 1 : 29) {
        CAPTURE(at);
        copy(whole, folder / "broken");
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
        write_all(folder / ("broken/" + std::filesystem::path(segment).filename().string()), changed);
        const Left left = reopen(folder / "broken");
        CHECK(std::is_sorted(left.got.begin(), left.got.end()));
        CHECK(std::adjacent_find(left.got.begin(), left.got.end()) == left.got.end());
        CHECK(left.got.size() + 1 >= kBatches - taken);
        CHECK(left.queued == 0);
        CHECK(left.accepted == (kBatches + 1) * kSamples);
        CHECK(left.damaged == (kBatches - taken - left.got.size()) * kSamples);
      }
    }
  }
}

TEST_CASE("a segment cut off anywhere keeps the records before the cut; all records behind it are counted") {
  const TemporaryFolder folder;
  make_spool(folder / "whole", 0);
  const auto segments = segments_in(folder / "whole");
  for (const std::string &segment : segments) {
    const std::string bytes = read_all(segment);
    for (size_t size = 0; size < bytes.size(); size += size < 200 ? 3 : 41) {
      CAPTURE(size);
      copy(folder / "whole", folder / "broken");
      write_all(folder / ("broken/" + std::filesystem::path(segment).filename().string()), bytes.substr(0, size));
      const Left left = reopen(folder / "broken");
      CHECK(std::is_sorted(left.got.begin(), left.got.end()));
      CHECK(left.got.size() >= kBatches / 2);
      CHECK(left.accepted == (kBatches + 1) * kSamples);
      CHECK(left.damaged == (kBatches - left.got.size()) * kSamples);
    }
  }
}

TEST_CASE("a state changed anywhere costs no data: the older one counts, or all is sent again") {
  const TemporaryFolder folder;
  make_spool(folder / "whole", 3);
  const std::string bytes = read_all(folder / "whole/state");
  for (const size_t slot : {size_t{0}, size_t{65536}}) {
    for (size_t at = slot; at < slot + 300; at += 3) {
      CAPTURE(at);
      copy(folder / "whole", folder / "broken");
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      write_all(folder / "broken/state", changed);
      const Left left = reopen(folder / "broken");
      // At most the last batch comes again.
      CHECK((left.got == numbers(3, kBatches) || left.got == numbers(2, kBatches)));
      CHECK(left.accepted == (kBatches + 1) * kSamples);
      CHECK(left.damaged == 0);
    }
  }
  for (const char *damage : {"gone", "zero", "noise"}) {
    copy(folder / "whole", folder / "broken");
    std::filesystem::remove(folder / "broken/state");
    if (*damage == 'z') write_all(folder / "broken/state", std::string(131072, '\0'));
    if (*damage == 'n') write_all(folder / "broken/state", std::string(131072, 'x'));
    const Left left = reopen(folder / "broken");
    CHECK(left.got == numbers(0, kBatches));
    CHECK(left.damaged == 0);
    CHECK(left.queued == 0);
  }
}

TEST_CASE("without a state and with a damaged first segment the rest is sent, and nothing is made up") {
  const TemporaryFolder folder;
  make_spool(folder / "s", 0);
  std::filesystem::remove(folder / "s/state");
  std::string bytes = read_all(segments_in(folder / "s")[0]);
  bytes[10] = 'x';  // its header
  bytes[60] = 'x';  // its first record
  write_all(segments_in(folder / "s")[0], bytes);
  const Left left = reopen(folder / "s");
  CHECK(left.got == numbers(1, kBatches));
  CHECK(left.damaged == 0);  // batch 0 left no trace
}

TEST_CASE("damaged bytes are kept aside, up to an eighth of the spool") {
  const TemporaryFolder folder;
  make_spool(folder / "s", 0);
  const std::string segment = segments_in(folder / "s")[0];
  std::string bytes = read_all(segment);
  bytes[200] = '!';
  write_all(segment, bytes);
  CHECK(reopen(folder / "s").damaged == kSamples);
  size_t kept = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder / "s/damaged")) {
    const std::string quarantined = read_all(entry.path());
    CHECK(bytes.find(quarantined) != std::string::npos);
    CHECK(quarantined.find('!') != std::string::npos);
    ++kept;
  }
  CHECK(kept == 1);
}

TEST_CASE("a record inside another's payload is not taken for one of the spool's") {
  const TemporaryFolder folder;
  std::string forged(5, 'x');
  append_record({.id = 12345, .sequence = 7, .samples = 1}, "p", "forged", forged);
  std::string payload = "batch 1 ";
  while (payload.size() % 8 != 0) payload += ' ';
  payload += forged.substr(5) + payload_of(1);
  {
    const auto spool = open_spool(limits_in(folder / "s"));
    SpoolDrops drops;
    REQUIRE(spool->append("pipeline", 10, payload, drops).put == Spool::Put::stored);
    append(*spool, 2, 10, "pipeline");
  }
  std::string bytes = read_all(segments_in(folder / "s")[0]);
  bytes[48 + 20] ^= 1;  // the header of the first record
  write_all(segments_in(folder / "s")[0], bytes);
  const auto spool = open_spool(limits_in(folder / "s"));
  CHECK(drain(*spool) == numbers(2, 3));
  CHECK(counts_of(*spool, "pipeline").dropped.at("spool damaged") == 10);
}

TEST_CASE("a segment of another version is refused, not destroyed") {
  const TemporaryFolder folder;
  make_spool(folder / "s", 0);
  const std::string segment = segments_in(folder / "s")[1];
  std::string bytes = read_all(segment);
  bytes[4] = 9;
  const uint32_t crc = crc32c(std::string_view(bytes).substr(0, 44));
  std::memcpy(bytes.data() + 44, &crc, sizeof(crc));
  write_all(segment, bytes);
  const auto opened = Spool::open(limits_in(folder / "s"));
  REQUIRE(!opened.ok());
  CHECK(opened.error().find("of format 9.1, this version reads 1.1") != std::string::npos);
  CHECK(read_all(segment) == bytes);
}

TEST_CASE("a segment of another version from which all was delivered is no reason to refuse") {
  const TemporaryFolder folder;
  make_spool(folder / "s", kBatches);
  for (const std::string &segment : segments_in(folder / "s")) {
    std::string bytes = read_all(segment);
    bytes[4] = 9;
    write_all(segment, bytes);
  }
  const Left left = reopen(folder / "s");
  CHECK(left.got.empty());
  CHECK(left.delivered == (kBatches + 1) * kSamples);
  CHECK(left.damaged == 0);
}

TEST_CASE("a crash between two segments: records that the first one got since the state was stored are counted") {
  const TemporaryFolder folder;
  for (const std::string &begun : {std::string(), std::string("ATLS\x01")}) {
    CAPTURE(begun);
    const auto spool = open_spool(limits_in(folder / "s"));
    for (uint64_t i = 0; i < 3; ++i) append(*spool, i);
    copy(folder / "s", folder / "crashed");  // with the state of its first moment
    write_all(folder / "crashed/00000000000000ff.seg", begun);
    const auto again = open_spool(limits_in(folder / "crashed"));
    CHECK(counts_of(*again).queued() == 30);
    CHECK(drain(*again) == numbers(0, 3));
    append(*again, 3);
    CHECK(drain(*again) == numbers(3, 4));
    const SpoolCounts counts = counts_of(*again);
    CHECK(counts.delivered == 40);
    CHECK(counts.dropped_total() == 0);
    CHECK(counts.queued() == 0);
    std::filesystem::remove_all(folder / "s");
  }
}

TEST_CASE("a folder or files removed under a spool: nothing in them is acknowledged, and the next batches are kept") {
  const TemporaryFolder folder;
  const std::string dir = folder / "s";
  const auto spool = open_spool(limits_in(dir));
  append(*spool, 0);
  REQUIRE(spool->sync().ok());
  append(*spool, 1);
  uint64_t appended = 20;
  SUBCASE("the folder") {
    std::filesystem::remove_all(dir);
  }
  SUBCASE("the folder, with another in its place") {
    std::filesystem::rename(dir, folder / "moved");
    std::filesystem::create_directory(dir);
  }
  SUBCASE("the segment") {
    std::filesystem::remove(segments_in(dir).front());
  }
  SUBCASE("all files") {
    for (const std::string &path : {segments_in(dir).front(), dir + "/state", dir + "/reserve"}) std::filesystem::remove(path);
  }
  SUBCASE("the segment, before another batch") {
    std::filesystem::remove(segments_in(dir).front());
    CHECK(append(*spool, 2) == Spool::Put::stored);
    appended += 10;
  }
  CHECK_FALSE(spool->sync().ok());
  CHECK(append(*spool, 3) == Spool::Put::stored);
  CHECK(spool->sync().ok());
  const std::vector<uint64_t> got = drain(*spool);
  REQUIRE(!got.empty());
  CHECK(got.back() == 3);
  const SpoolCounts counts = counts_of(*spool);
  CHECK(counts.queued() == 0);
  CHECK(counts.delivered + counts.dropped_total() == appended + 10);
  append(*spool, 4);
  spool->close();
  const auto again = open_spool(limits_in(dir));
  CHECK(drain(*again) == std::vector<uint64_t>{4});
}
