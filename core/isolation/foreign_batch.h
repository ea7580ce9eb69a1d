// SPDX-License-Identifier: Apache-2.0
// A batch on its way between two processes. They share its memory, each at its own address.
#pragma once

#include <atalaya/plugin.h>

#include <cstddef>
#include <cstdint>

#include "core/base/sample/batch.h"
#include "core/base/result.h"

namespace atalaya::core {

// Shared memory, and where the process that reads the pointers in it has it.
struct BatchMemory {
  std::byte *data = nullptr;
  size_t size = 0;
  uint64_t base = 0;
};

// The location of a batch, in that process's addresses.
struct ForeignBatch {
  uint64_t samples = 0, count = 0;
};

// Appends copies of the samples of a batch that another process made. Nothing of it is believed: every pointer, count, alignment
// and name is checked before it is used, and each is read once, since the other may write at the same time. `names` is the highest
// id of a name. On an error `to` is as it was, but for the memory taken.
Status take_batch(const BatchMemory &memory, const ForeignBatch &batch, uint32_t names, Batch &to);

// Writes copies of the samples, for the other process to read, to the beginning of the memory; `used` says how much of it.
Result<ForeignBatch> put_batch(const atalaya_batch &batch, const BatchMemory &memory, size_t &used);

}  // namespace atalaya::core
