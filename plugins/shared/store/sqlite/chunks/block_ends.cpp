// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/block_ends.h"

#include <algorithm>
#include <array>

#include "plugins/shared/store/sqlite/chunks/chunk_format.h"

namespace atalaya::store {
namespace {

constexpr size_t kBlockPoints = kMaxChunkPoints / kMaxBlocks;  // of a block, on average at least
// Of the stretches for which many queries want one value. One begins after a multiple of its length and ends with the next one.
constexpr std::array kBlockLengths = {int64_t{600'000'000'000}, int64_t{3600'000'000'000}, int64_t{21'600'000'000'000}};
// The end of that of a time.
int64_t interval_end_ns(int64_t time_ns, int64_t length_ns) {
  const int64_t before = minus(time_ns, 1), rest = before % length_ns;
  const int64_t remaining = length_ns - (rest < 0 ? rest + length_ns : rest);
  return before > INT64_MAX - remaining ? INT64_MAX : before + remaining;
}

}  // namespace

std::vector<size_t> block_ends(std::span<const int64_t> times_ns) {
  const size_t maximum = times_ns.size() / kBlockPoints;
  if (maximum < 2) return {};
  std::vector<size_t> ends;
  for (const int64_t length_ns : kBlockLengths) {
    ends.clear();
    for (size_t begin = 0; begin < times_ns.size() && ends.size() <= maximum; begin = ends.back()) {
      const auto rest = times_ns.subspan(begin + 1);
      const auto end = std::upper_bound(rest.begin(), rest.end(), interval_end_ns(times_ns[begin], length_ns));
      ends.push_back(begin + 1 + static_cast<size_t>(end - rest.begin()));
    }
    if (ends.size() <= maximum) break;
  }
  if (ends.size() < 2 || ends.back() != times_ns.size()) ends.clear();
  return ends;
}

}  // namespace atalaya::store
