// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/counters/tally.h"

#include <algorithm>

namespace atalaya::counters {
namespace {

constexpr double kPercent = 100, kThousand = 1000;

using Number = std::optional<double>;

Number ratio(Number part, Number whole, double scale = 1) {
  return part && whole && *whole > 0 ? Number(*part / *whole * scale) : std::nullopt;
}

struct Rate {
  Value value;
  Slot slot;
};
constexpr Rate kRates[] = {{kValueCycles, kCycles},
                           {kValueInstructions, kInstructions},
                           {kValueBranches, kBranches},
                           {kValueBranchMisses, kBranchMisses},
                           {kValueCacheReferences, kCacheReferences},
                           {kValueCacheMisses, kCacheMisses},
                           {kValueLlcLoads, kLlcLoads},
                           {kValueLlcMisses, kLlcMisses},
                           {kValueL1dLoads, kL1dLoads},
                           {kValueL1dMisses, kL1dMisses},
                           {kValueL1dStores, kL1dStores},
                           {kValueL1iMisses, kL1iMisses},
                           {kValueDtlbMisses, kDtlbMisses},
                           {kValueItlbMisses, kItlbMisses},
                           {kValueSwitches, kSwitches},
                           {kValueMigrations, kMigrations},
                           {kValueFaults, kFaults},
                           {kValueMajorFaults, kMajorFaults}};

struct Ratio {
  Value value;
  Slot part, whole;
  double scale;
};
constexpr Ratio kRatios[] = {{kValueIpc, kInstructions, kCycles, 1},
                             {kValueStalledFrontend, kStalledFrontend, kCycles, kPercent},
                             {kValueStalledBackend, kStalledBackend, kCycles, kPercent},
                             {kValueBranchShare, kBranches, kBranchInstructions, kPercent},
                             {kValueBranchMissShare, kBranchMisses, kBranches, kPercent},
                             {kValueCacheMissShare, kCacheMisses, kCacheReferences, kPercent},
                             {kValueCacheMpki, kCacheMisses, kCacheInstructions, kThousand},
                             {kValueLlcMissShare, kLlcMisses, kLlcLoads, kPercent},
                             {kValueL1dMissShare, kL1dMisses, kL1dLoads, kPercent},
                             {kValueLoadShare, kL1dLoads, kL1dInstructions, kPercent},
                             {kValueStoreShare, kL1dStores, kL1dInstructions, kPercent},
                             {kValueL1iMissShare, kL1iMisses, kL1iLoads, kPercent},
                             {kValueL1iMpki, kL1iMisses, kL1iInstructions, kThousand},
                             {kValueDtlbMpki, kDtlbMisses, kTlbInstructions, kThousand},
                             {kValueItlbMpki, kItlbMisses, kTlbInstructions, kThousand}};

}  // namespace

void Tally::add(size_t slot, const Growth &growth) {
  Sum &sum = sums_[slot];
  sum.known = true;
  sum.enabled_ns += growth.enabled_ns;
  sum.running_ns += growth.running_ns;
  if (growth.running_ns == 0 && growth.count == 0) return;
  const auto count = static_cast<double>(growth.count);
  // Software events are never multiplexed, and the kernel's time of a cgroup lags behind them.
  const bool turns = !is_software(slot) && growth.running_ns > 0 && growth.running_ns < growth.enabled_ns;
  sum.count += turns ? count * static_cast<double>(growth.enabled_ns) / static_cast<double>(growth.running_ns) : count;
  sum.counted_ns += growth.enabled_ns;
}

std::optional<double> Tally::count(size_t slot) const {
  const Sum &sum = sums_[slot];
  if (!sum.known || sum.lost) return std::nullopt;
  if (is_software(slot) || sum.enabled_ns == sum.counted_ns) return sum.count;
  if (sum.counted_ns == 0) return std::nullopt;
  // CPUs on which the event never ran are estimated by the others: during a short run, the CPU may have counted only other groups.
  return sum.count * static_cast<double>(sum.enabled_ns) / static_cast<double>(sum.counted_ns);
}

std::optional<double> Tally::running() const {
  std::optional<double> minimum;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    const Sum &sum = sums_[slot];
    if (is_software(slot) || !sum.known || sum.lost || sum.enabled_ns == 0) continue;
    const double share = kPercent * static_cast<double>(sum.running_ns) / static_cast<double>(sum.enabled_ns);
    minimum = std::min(minimum.value_or(share), share);
  }
  return minimum;
}

Values values_of(const Tally &tally, double seconds) {
  Values values;
  if (seconds <= 0) return values;
  for (const Rate &rate : kRates)
    if (const auto count = tally.count(rate.slot)) values[rate.value] = *count / seconds;
  for (const Ratio &row : kRatios) values[row.value] = ratio(tally.count(row.part), tally.count(row.whole), row.scale);
  values[kValueRunning] = tally.running();
  if (const auto clock = tally.count(kClock)) values[kValueClock] = *clock / 1e9 / seconds * kPercent;
  return values;
}

}  // namespace atalaya::counters
