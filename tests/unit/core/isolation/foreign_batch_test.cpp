// SPDX-License-Identifier: Apache-2.0
// The parts that a host accepts of a batch that another process left in shared memory.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "core/isolation/foreign_batch.h"

using namespace atalaya::core;

namespace {

constexpr uint32_t kNames = 10;
constexpr uint64_t kBase = 0x7000'0000'0000;

// Memory as another process has it, at kBase, with one sound sample in it.
struct Memory {
  alignas(64) std::array<std::byte, 4096> bytes{};
  ForeignBatch batch;
  BatchMemory memory{bytes.data(), bytes.size(), kBase};

  Memory() {
    Batch batch_here;
    atalaya_sample &sample = batch_here.add_sample(ATALAYA_METRICS);
    sample.time_ns = 5;
    batch_here.add_tag(sample, 1, "here");
    batch_here.add_tag(sample, 2, "1234");
    atalaya_field field{3, ATALAYA_I64, {}};
    field.value.i64 = 42;
    batch_here.add_field(sample, field);
    sample.text = batch_here.copy("main;work");
    size_t used = 0;
    const auto put = put_batch(batch_here.raw(), memory, used);
    REQUIRE(put.ok());
    batch = put.value();
  }
  template <class T>
  T &at(const void *theirs) {
    return *reinterpret_cast<T *>(bytes.data() + (reinterpret_cast<uint64_t>(theirs) - kBase));
  }
  atalaya_sample &sample() { return at<atalaya_sample>(reinterpret_cast<void *>(batch.samples)); }
  atalaya_tag &tag() { return at<atalaya_tag>(sample().tags); }
  atalaya_field &field() { return at<atalaya_field>(sample().fields); }

  std::string refused() {
    Batch to;
    to.add_sample(ATALAYA_SPAN);
    const Status taken = take_batch(memory, batch, kNames, to);
    if (taken) return "";
    CHECK(to.count() == 1);
    return taken.error();
  }
};

template <class T>
T *moved(T *theirs, int64_t by) {
  return reinterpret_cast<T *>(reinterpret_cast<uint64_t>(theirs) + static_cast<uint64_t>(by));
}

}  // namespace

TEST_CASE_FIXTURE(Memory, "a sound batch arrives whole, and is the host's own") {
  Batch to;
  REQUIRE(take_batch(memory, batch, kNames, to).ok());
  bytes.fill(std::byte{0xff});
  REQUIRE(to.count() == 1);
  const atalaya_sample &got = to.raw().samples[0];
  CHECK(got.time_ns == 5);
  REQUIRE(got.tag_count == 2);
  CHECK(got.tags[0].key == 1);
  CHECK(view_of(got.tags[0].value) == "here");
  CHECK(view_of(got.tags[1].value) == "1234");
  REQUIRE(got.field_count == 1);
  CHECK(got.fields[0].value.i64 == 42);
  CHECK(view_of(got.text) == "main;work");
  // And can be worked on like any other.
  to.add_tag(to.raw().samples[0], 4, "more");
  CHECK(view_of(to.raw().samples[0].tags[2].value) == "more");
}

TEST_CASE_FIXTURE(Memory, "references to the outside are refused") {
  SUBCASE("samples before the memory") {
    batch.samples = kBase - 64;
  }
  SUBCASE("samples behind it") {
    batch.samples = kBase + bytes.size();
  }
  SUBCASE("samples across its end") {
    batch.samples = kBase + bytes.size() - 8;
  }
  SUBCASE("samples at 0") {
    batch.samples = 0;
  }
  SUBCASE("samples not aligned") {
    batch.samples += 4;
  }
  SUBCASE("more samples than fit") {
    batch.count = 1000;
  }
  SUBCASE("a number whose size overflows") {
    batch.count = uint64_t{1} << 60;
  }
  SUBCASE("tags outside") {
    sample().tags = moved(sample().tags, 1 << 20);
  }
  SUBCASE("tags not aligned") {
    sample().tags = moved(sample().tags, 4);
  }
  SUBCASE("more tags than fit") {
    sample().tag_count = 60000;
  }
  SUBCASE("more tags than there may be") {
    sample().tag_count = 1 << 31;
  }
  SUBCASE("fields outside") {
    sample().fields = moved(sample().fields, -(1 << 20));
  }
  SUBCASE("more fields than fit") {
    sample().field_count = 0xffff;
  }
  SUBCASE("a tag's text outside") {
    tag().value.data = "in the host";
  }
  SUBCASE("a tag's text too long") {
    tag().value.size = UINT64_MAX;
  }
  SUBCASE("the text at 0") {
    sample().text.data = nullptr;
  }
  SUBCASE("an unknown tag") {
    tag().key = kNames + 1;
  }
  SUBCASE("an unknown field") {
    field().name = UINT32_MAX;
  }
  SUBCASE("an unknown type") {
    field().type = 2;
  }
  SUBCASE("an unknown kind") {
    sample().kind = 3;
  }
  CHECK(refused() != "");
}

TEST_CASE_FIXTURE(Memory, "a small batch cannot claim a huge size") {
  // Samples that all have the same large text.
  Batch many;
  for (int i = 0; i < 30; ++i) many.add_sample(ATALAYA_STACK);
  size_t used = 0;
  batch = *put_batch(many.raw(), memory, used);
  for (uint64_t i = 0; i < 30; ++i) {
    auto &one = at<atalaya_sample>(reinterpret_cast<void *>(batch.samples + i * sizeof(atalaya_sample)));
    one.text = {reinterpret_cast<const char *>(kBase + i), 4000};
  }
  CHECK(refused() != "");
}

TEST_CASE_FIXTURE(Memory, "texts of no size need no place") {
  tag().value = {"anywhere", 0};
  CHECK(refused() == "");
}

TEST_CASE_FIXTURE(Memory, "a value that changes while it is read is taken in one state or the other, or refused") {
  std::atomic<bool> done{false};
  sample().tag_count = 1;
  std::thread writer([this, &done] {
    for (uint32_t turn = 0; !done; ++turn) {
      const uint32_t value = turn % 2 == 0 ? 1 : UINT32_MAX;
      std::atomic_ref(sample().tag_count).store(value, std::memory_order_relaxed);
      std::atomic_ref(tag().key).store(value, std::memory_order_relaxed);
    }
  });
  for (int i = 0; i < 20000; ++i) {
    Batch to;
    if (!take_batch(memory, batch, kNames, to)) continue;
    REQUIRE(to.raw().samples[0].tag_count == 1);
    REQUIRE(to.raw().samples[0].tags[0].key == 1);
  }
  done = true;
  writer.join();
}

TEST_CASE("a batch that does not fit is not put") {
  std::array<std::byte, 256> bytes{};
  Batch batch;
  for (int i = 0; i < 100; ++i) batch.add_sample(ATALAYA_METRICS);
  size_t used = 0;
  const auto put = put_batch(batch.raw(), {bytes.data(), bytes.size(), kBase}, used);
  REQUIRE(!put.ok());
  CHECK(put.error().find("isolation.memory") != std::string::npos);
}
