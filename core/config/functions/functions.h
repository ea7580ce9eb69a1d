// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"

namespace atalaya::core {

// Runs the inline functions of connected pipelines on samples, with limits of time and memory. One call at a time; any thread.
class FunctionHost {
 public:
  virtual ~FunctionHost() = default;

  struct Result {
    uint64_t dropped = 0;  // the function returned nil
    uint64_t failed = 0;   // it raised an error or hit a limit
    std::string error;     // the first failure, file:line first; "" if none
  };
  // Calls the function on each sample and compacts the batch to those that stay. A sample whose call failed stays if `pass_failed`
  // (as it was before the call, unless the function had already changed it). All calls of one batch share one limit of time
  // and one of the bytes they add to the batch.
  virtual Result apply(int function, Batch &batch, bool pass_failed) = 0;
};

}  // namespace atalaya::core
