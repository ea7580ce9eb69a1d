// SPDX-License-Identifier: Apache-2.0
// Batches in memory that two processes share, each at a different address.
#pragma once

#include <atalaya/plugin.h>

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/base/sample/batch.h"

namespace atalaya::core {

// The shared memory of batches.
struct BatchMemory {
  std::byte *data = nullptr;  // its address in this process
  size_t size = 0;
  uint64_t base = 0;  // its address in the process that reads or wrote the pointers in it
};

// The sample array of a batch, in addresses of the process with BatchMemory::base.
struct ForeignBatch {
  uint64_t samples = 0, count = 0;
};

// Appends copies of the samples of a batch from another process, which is untrusted input: every pointer, count, alignment and
// name is read once, because the other process may write at the same time, and checked before its use. `names` is the highest id
// of a name. On an error the samples of `to` are unchanged.
Status take_batch(const BatchMemory &memory, const ForeignBatch &batch, uint32_t names, Batch &to);

// Copies the samples to the start of the memory, with pointers for the other process. Sets `used` to the bytes written.
Result<ForeignBatch> put_batch(const atalaya_batch &batch, const BatchMemory &memory, size_t &used);

}  // namespace atalaya::core
