// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"

namespace atalaya::core {

// Runs the inline functions of connected pipelines on samples, within limits of time and memory. Any thread, one call at a time.
class FunctionHost {
 public:
  virtual ~FunctionHost() = default;

  struct Result {
    uint64_t dropped = 0;  // samples for which the function returned nil
    uint64_t failed = 0;   // samples whose call raised an error or exceeded a limit
    std::string error;     // the first failure: "file:line: ..."; "" without a failure
  };
  // Calls the function for each sample and removes the dropped samples from the batch. With `pass_failed` a sample whose call
  // failed remains, with the changes that the function made before the failure. The calls of one batch share one limit of time and
  // one limit of bytes that they add to the batch.
  virtual Result apply(int function, Batch &batch, bool pass_failed) = 0;
};

}  // namespace atalaya::core
