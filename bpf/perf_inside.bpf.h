// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The code region that each thread is in, for regions whose runs are tasks. */
#ifndef ATALAYA_BPF_PERF_INSIDE_H
#define ATALAYA_BPF_PERF_INSIDE_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "perf.h"

/* Set by user space before the programs are loaded. */
const volatile __u32 regions;     /* number of regions; 0: none */
const volatile __u64 min_task_ns; /* shorter runs are no tasks */

struct inside {
  __u64 epoch;
  __u64 stack; /* the pointer, at its begin */
  __u32 region;
  __u32 depth; /* begins without an end yet */
};

/* The run of each thread that is in a region. Not an LRU map: on_tick reads it, and a read of an LRU map takes its lock. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u32);
  __type(value, struct inside);
} runs_of_threads SEC(".maps");

static __always_inline bool add_region(struct perf_key *key, const struct task_struct *task) {
  if (regions == 0) return false;
  const __u32 thread = BPF_CORE_READ(task, pid);
  const struct inside *run = bpf_map_lookup_elem(&runs_of_threads, &thread);
  if (!run) return false;
  key->thread = thread;
  key->epoch = run->epoch;
  key->flags |= (run->region + 1) << PERF_REGION_SHIFT;
  return true;
}

static __always_inline bool is_in_region(const struct perf_key *key) {
  return key->flags >> PERF_REGION_SHIFT != 0;
}

/* Removes thread and epoch from the key while the run is shorter than a task, so that all short runs share the stacks of their
 * region.
 */
static __always_inline void drop_young(struct perf_key *key, __u64 now) {
  if (!is_in_region(key) || now - key->epoch >= min_task_ns) return;
  key->thread = 0;
  key->epoch = 0;
}

#endif
