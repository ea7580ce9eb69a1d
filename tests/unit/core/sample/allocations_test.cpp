// SPDX-License-Identifier: Apache-2.0
// Work that is done once per window must not touch the heap after warm-up.
#include <doctest/doctest.h>

#include <string>

#include "core/base/encode/flat.h"
#include "plugins/shared/protocols/formats/encoder.h"
#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/count_allocations.h"

using namespace atalaya;
using namespace atalaya::core;
using atalaya::testing::allocations;

namespace {

constexpr int kProcesses = 500;

struct Names {
  Symbols symbols;
  const uint32_t host = symbols.intern("host");
  const uint32_t pid = symbols.intern("pid");
  const uint32_t process = symbols.intern("process");
  uint32_t fields[12];
  Names() {
    for (uint32_t i = 0; i < 12; ++i) fields[i] = symbols.intern("proc.field" + std::to_string(i));
  }
};

void fill(Batch &batch, const Names &names) {
  for (int n = 0; n < kProcesses; ++n) {
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    sample.time_ns = 1'795'219'532'000'000'000;
    batch.add_tag(sample, names.host, "a host with a name longer than a small string");
    batch.add_tag(sample, names.pid, "8860");
    batch.add_tag(sample, names.process, "a process \"with\" a long and\nodd name");
    for (uint32_t i = 0; i < 12; ++i) {
      atalaya_field field{names.fields[i], i % 2, {}};
      if (field.type == ATALAYA_F64) {
        field.value.f64 = n * 1.37 + i;
      } else {
        field.value.i64 = n * 1000 + static_cast<int>(i);
      }
      batch.add_field(sample, field);
    }
  }
}

// Allocations of 200 calls after warm-up; the arena looks for memory to release several times in between.
template <class F>
uint64_t steady(F &&window) {
  for (int i = 0; i < 10; ++i) window();
  const uint64_t before = allocations();
  for (int i = 0; i < 200; ++i) window();
  return allocations() - before;
}

}  // namespace

TEST_CASE("the counter counts") {
  const uint64_t before = allocations();
  const auto memory = std::make_unique<int>(1);
  CHECK(allocations() == before + 1);
}

TEST_CASE("filling a recycled batch allocates nothing") {
  const Names names;
  Batch batch;
  CHECK(steady([&] {
          batch.recycle();
          fill(batch, names);
        }) == 0);
}

TEST_CASE("taking batches from the pool and giving them back allocates nothing") {
  const Names names;
  const auto pool = BatchPool::make();
  CHECK(steady([&] {
          BatchOwner batch = pool->take();
          fill(*batch, names);
          pool->return_batch(std::move(batch));
        }) == 0);
}

TEST_CASE("freezing a batch allocates its count of holders only") {
  const Names names;
  const auto pool = BatchPool::make();
  CHECK(steady([&] {
          BatchOwner batch = pool->take();
          fill(*batch, names);
          const BatchRef frozen = pool->freeze(std::move(batch));
        }) == 200);
}

TEST_CASE("encoding allocates nothing in any format") {
  const Names names;
  Batch batch;
  fill(batch, names);
  std::string out;
  for (const char *format : {"jsonlines", "samples", "bdwatchdog", "csv", "line"}) {
    const auto encoder =
        protocols::make_encoder(protocols::format_from_name(format), [&](uint32_t id) { return names.symbols.name(id); });
    const uint64_t count = steady([&] {
      out.clear();
      for (uint64_t i = 0; i < batch.count(); ++i) encoder->append(batch.raw().samples[i], out);
    });
    CHECK_MESSAGE(count == 0, format);
    CHECK(out.size() > kProcesses * 12 * 30);
  }
}

TEST_CASE("writing flat records allocates nothing") {
  const Names names;
  Batch batch;
  fill(batch, names);
  FlatEncoder encoder;
  std::string out;
  CHECK(steady([&] {
          out.clear();
          if (!encoder.append(batch.raw(), names.symbols, out).ok()) out.clear();
        }) == 0);
  CHECK(out.size() > kProcesses * 12 * 16);
}

TEST_CASE("reading flat records into a recycled batch allocates once a record, for its names") {
  Names names;
  Batch batch;
  fill(batch, names);
  std::string record;
  REQUIRE(encode_flat(batch.raw(), names.symbols, record).ok());
  uint64_t samples = 0;
  CHECK(steady([&] {
          batch.recycle();
          const auto decoded = decode_flat(record, names.symbols, batch);
          samples += decoded.ok() ? decoded.value().samples : 0;
        }) == 200);
  CHECK(samples == 210 * kProcesses);
}
