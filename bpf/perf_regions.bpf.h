// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Tracks the code region that each thread is in. Invariant: a thread is in at most one region, the outermost one.
 *
 * A thread may leave a region without passing its end (longjmp, an exception). The next entry detects this: its stack pointer is
 * not below that of the abandoned run. For a region between two functions, only the next entry into the same region detects it.
 */
#ifndef ATALAYA_BPF_PERF_REGIONS_H
#define ATALAYA_BPF_PERF_REGIONS_H

#include "perf_stacks.bpf.h"
#include "returns.h"

const volatile __u8 by_return[PERF_REGIONS]; /* it ends where the function returns */

const volatile __u64 max_spans = 100; /* per region and second */

__u64 lost_runs; /* of which no record was written */

struct {
  __u64 second, reported;
} rate[PERF_REGIONS];

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18);
} runs SEC(".maps");

static __always_inline bool is_abandoned(const struct inside *run, __u64 region, __u64 stack) {
  const bool may_know = run->region == region || by_return[run->region & (PERF_REGIONS - 1)];
  return may_know && stack >= run->stack;
}

SEC("uprobe")
int region_enters(struct pt_regs *ctx) {
  const __u64 region = bpf_get_attach_cookie(ctx);
  if (region >= PERF_REGIONS) return 0;
  const __u32 thread = (__u32)bpf_get_current_pid_tgid();
  const struct inside run = {.epoch = bpf_ktime_get_ns(), .stack = PT_REGS_SP(ctx), .region = region, .depth = 1};
  struct inside *known = bpf_map_lookup_elem(&runs_of_threads, &thread);
  if (known && !is_abandoned(known, region, run.stack)) {
    if (known->region == region) ++known->depth;
  } else if (bpf_map_update_elem(&runs_of_threads, &thread, &run, BPF_ANY) != 0) {
    __sync_fetch_and_add(&lost_runs, 1);
  }
  return 0;
}

/* Several CPUs may start a new second at the same time; a few runs above the limit are reported then. */
static bool below_limit(__u32 region, __u64 now) {
  const __u64 second = now / 1000000000;
  region &= PERF_REGIONS - 1;
  if (rate[region].second != second) {
    rate[region].second = second;
    rate[region].reported = 0;
  }
  return __sync_fetch_and_add(&rate[region].reported, 1) < max_spans;
}

static void end_run(__u32 thread, const struct inside *run, __u64 now) {
  const __u64 begin = run->epoch;
  const __u32 region = run->region;
  bpf_map_delete_elem(&runs_of_threads, &thread);
  if (now - begin < min_task_ns) return;
  struct perf_run *record = below_limit(region, now) ? bpf_ringbuf_reserve(&runs, sizeof(*record), 0) : NULL;
  if (!record) {
    __sync_fetch_and_add(&lost_runs, 1);
    return;
  }
  const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
  __builtin_memset(record, 0, sizeof(*record));
  describe(&record->process, task);
  read_comm(record->comm, task);
  record->begin_ns = begin;
  record->end_ns = now;
  record->thread = thread;
  record->region = region;
  bpf_ringbuf_submit(record, 0);
}

SEC("uretprobe")
int region_returns(struct pt_regs *ctx) {
  const __u64 now = bpf_ktime_get_ns();
  const __u32 thread = (__u32)bpf_get_current_pid_tgid();
  const struct inside *run = bpf_map_lookup_elem(&runs_of_threads, &thread);
  if (run && run->region == bpf_get_attach_cookie(ctx) && returns_from(ctx, run->stack)) end_run(thread, run, now);
  return 0;
}

SEC("uprobe")
int region_leaves(struct pt_regs *ctx) {
  const __u64 now = bpf_ktime_get_ns();
  const __u32 thread = (__u32)bpf_get_current_pid_tgid();
  struct inside *run = bpf_map_lookup_elem(&runs_of_threads, &thread);
  if (run && run->region == bpf_get_attach_cookie(ctx) && --run->depth == 0) end_run(thread, run, now);
  return 0;
}

/* After exec, the calling thread continues under the thread group leader's id. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_thread) {
  const __u32 before = old_thread, after = task->pid;
  bpf_map_delete_elem(&runs_of_threads, &before);
  bpf_map_delete_elem(&runs_of_threads, &after);
  return 0;
}

#endif
