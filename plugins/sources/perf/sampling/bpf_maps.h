// SPDX-License-Identifier: Apache-2.0
// Reads the BPF maps and records of bpf/perf.bpf.c.
#pragma once

#include <bpf/bpf.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include "bpf/perf.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

inline ProcessId id_of(const perf_process &process) {
  return {static_cast<int32_t>(process.pid), process.start_ns, process.image};
}

// Returns the text up to its first NUL.
template <size_t N>
std::string_view text_of(const char (&name)[N]) {
  return {name, ::strnlen(name, N)};
}

// Waits until each BPF program that runs at the call has ended.
inline void wait_for_programs() {
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return;
  // Fallback for kernels with nohz_full, where the barrier is unavailable: a program runs for microseconds.
  static constexpr timespec kMaxRuntime{0, 50'000'000};
  ::nanosleep(&kMaxRuntime, nullptr);
}

template <typename Key, typename Value, typename Add>
void read_one_by_one(int map, const Add &add) {
  Key key{};
  for (Value value{}; bpf_map_get_next_key(map, nullptr, &key) == 0;) {
    if (bpf_map_lookup_elem(map, &key, &value) == 0) add(key, value);
    if (bpf_map_delete_elem(map, &key) != 0) break;
  }
}

// Reads and deletes all entries in one pass; no program may write to the map meanwhile.
template <typename Key, typename Value, typename Add>
void read_and_delete(int map, const Add &add) {
  static constexpr uint32_t kBatch = 2048;  // more than the entries of any bucket
  std::vector<Key> keys(kBatch);
  std::vector<Value> values(kBatch);
  uint32_t cursor = 0;
  for (bool first = true, more = true; more; first = false) {
    uint32_t count = kBatch;
    more =
        bpf_map_lookup_and_delete_batch(map, first ? nullptr : &cursor, &cursor, keys.data(), values.data(), &count, nullptr) == 0;
    if (!more && errno != ENOENT) return read_one_by_one<Key, Value>(map, add);
    for (uint32_t i = 0; i < count; ++i) add(keys[i], values[i]);
  }
}

}  // namespace atalaya::perf
