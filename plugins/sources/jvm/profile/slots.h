// SPDX-License-Identifier: Apache-2.0
// Max-min fair division of the sampling slots between users: no user gets a slot while another
// user with waiting JVMs has fewer. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace atalaya::jvm {

struct Candidate {
  uint32_t user = 0;
  int64_t active_ns = 0;  // last time at which a thread of the JVM ran; 0: never seen
};

inline std::map<uint32_t, size_t> counts_by_user(std::span<const Candidate> candidates) {
  std::map<uint32_t, size_t> counts;
  for (const Candidate &one : candidates) ++counts[one.user];
  return counts;
}

// Returns the index of the sampled JVM whose slot goes to a JVM of `user`: among those of the user with the most slots, the one
// that has been idle longest. Empty: no other user has more slots.
inline std::optional<size_t> to_replace(std::span<const Candidate> sampled, uint32_t user) {
  auto counts = counts_by_user(sampled);
  const size_t own = counts[user] + 1;
  std::optional<size_t> found;
  for (size_t i = 0; i < sampled.size(); ++i) {
    const size_t count = counts[sampled[i].user];
    if (count <= own) continue;
    const size_t best = found ? counts[sampled[*found].user] : 0;
    if (count > best || (count == best && sampled[i].active_ns < sampled[*found].active_ns)) found = i;
  }
  return found;
}

// Returns the index of the waiting JVM that gets a free slot: among those of the user with the fewest slots, the most recently
// active one. Empty: no JVM waits.
inline std::optional<size_t> to_admit(std::span<const Candidate> waiting, std::span<const Candidate> sampled) {
  auto counts = counts_by_user(sampled);
  std::optional<size_t> found;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const size_t count = counts[waiting[i].user];
    const size_t best = found ? counts[waiting[*found].user] : SIZE_MAX;
    if (count < best || (count == best && waiting[i].active_ns > waiting[*found].active_ns)) found = i;
  }
  return found;
}

}  // namespace atalaya::jvm
