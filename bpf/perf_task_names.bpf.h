// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads that may run tasks, selected by the prefixes of their names. */
#ifndef ATALAYA_BPF_PERF_TASK_NAMES_H
#define ATALAYA_BPF_PERF_TASK_NAMES_H

#include "kernel.h"

#include <asm/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "perf.h"
#include "perf_inside.bpf.h"

const volatile __u32 prefixes;
const volatile struct perf_prefix prefix[PERF_PREFIXES];

/* The epoch of each renamed thread that may run tasks. Not an LRU map: on_tick reads it, and a read of an LRU map takes its lock.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, __u64);
} epochs SEC(".maps");

static __always_inline bool begins_with(const char *name, const volatile struct perf_prefix *wanted) {
  for (__u32 i = 0; i < PERF_COMM; ++i) {
    if (i >= wanted->size) break;
    if (name[i] != wanted->text[i]) return false;
  }
  return true;
}

static __always_inline bool may_run_tasks(const char *name) {
  for (__u32 i = 0; i < PERF_PREFIXES; ++i) {
    if (i >= prefixes) break;
    if (begins_with(name, &prefix[i])) return true;
  }
  return false;
}

static __always_inline void add_thread(struct perf_key *key, char *name, const struct task_struct *task) {
  if (add_region(key, task) || prefixes == 0) return;
  bpf_probe_read_kernel_str(name, PERF_COMM, &task->comm);
  if (!may_run_tasks(name)) return;
  key->thread = BPF_CORE_READ(task, pid);
  const __u64 *epoch = bpf_map_lookup_elem(&epochs, &key->thread);
  if (epoch) key->epoch = *epoch;
}

#endif
