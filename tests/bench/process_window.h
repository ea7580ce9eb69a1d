// SPDX-License-Identifier: Apache-2.0
// A window of processes as source proc emits it, for the benches of sinks.
#pragma once

#include <cstdint>
#include <random>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"

namespace atalaya::bench {

constexpr size_t kProcesses = 1000;
constexpr size_t kPoints = kProcesses * 15;

// The first `busy` processes have random values; of the others every rate is 0 and every size stays.
void fill_window(core::Batch &batch, core::Symbols &symbols, size_t busy, int64_t window, std::minstd_rand &random);

}  // namespace atalaya::bench
