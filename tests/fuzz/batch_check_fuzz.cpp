// SPDX-License-Identifier: Apache-2.0
// A batch as a child process may leave it in shared memory: whatever its content, the host takes it whole or refuses it, and
// accepted parts can be read. The input: the position of the batch (two numbers), then the memory.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/isolation/foreign_batch.h"

using namespace atalaya::core;

namespace {

constexpr uint32_t kNames = 100;
constexpr uint64_t kBase = 0x10000;

// Reads every byte that a sink would.
uint64_t use(const atalaya_batch &batch) {
  uint64_t sum = 0;
  const auto text = [&sum](atalaya_str value) {
    for (const char c : view_of(value)) sum += static_cast<unsigned char>(c);
  };
  for (uint64_t i = 0; i < batch.count; ++i) {
    const atalaya_sample &sample = batch.samples[i];
    text(sample.text);
    for (uint32_t t = 0; t < sample.tag_count; ++t) {
      if (sample.tags[t].key > kNames) std::abort();
      text(sample.tags[t].value);
    }
    for (uint32_t f = 0; f < sample.field_count; ++f) {
      if (sample.fields[f].name > kNames || sample.fields[f].type > ATALAYA_I64) std::abort();
      sum += static_cast<uint64_t>(sample.fields[f].value.i64);
    }
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ForeignBatch batch;
  if (size < sizeof(batch)) return 0;
  std::memcpy(&batch, data, sizeof(batch));
  std::vector<uint64_t> words((size - sizeof(batch)) / 8 + 1);  // aligned, and exactly of the given size
  std::memcpy(words.data(), data + sizeof(batch), size - sizeof(batch));
  const BatchMemory memory{reinterpret_cast<std::byte *>(words.data()), size - sizeof(batch), kBase};
  Batch taken;
  taken.add_sample(ATALAYA_METRICS);
  const Status status = take_batch(memory, batch, kNames, taken);
  if (taken.count() != 1 + (status ? batch.count : 0)) std::abort();
  volatile uint64_t sum = use(taken.raw());
  static_cast<void>(sum);
  // The accepted batch goes the other way and back.
  if (!status || taken.used_bytes() > (size_t{1} << 20)) return 0;
  std::vector<uint64_t> other(taken.used_bytes() / 8 + 64);
  const BatchMemory there{reinterpret_cast<std::byte *>(other.data()), other.size() * 8, kBase};
  size_t used = 0;
  const auto put = put_batch(taken.raw(), there, used);
  Batch again;
  if (!put || !take_batch(there, put.value(), kNames, again) || again.count() != taken.count()) std::abort();
  if (use(again.raw()) != sum) std::abort();
  return 0;
}
