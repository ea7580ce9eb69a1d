// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sums the counters of a process over its live and ended threads. */
#ifndef ATALAYA_BPF_PROC_THREADS_H
#define ATALAYA_BPF_PROC_THREADS_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "proc.h"

#define PF_EXITING 0x00000004

/* Set by user space before the programs are loaded: the exit hooks of proc.bpf.c are attached. */
const volatile bool follows_exits;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, PROC_THREADED);
  __type(key, struct proc_key);
  __type(value, struct proc_calls);
} ended_threads SEC(".maps");

/* Must be inlined: `from` is either a kernel pointer that the verifier knows or a local copy, and one load instruction cannot read
 * both.
 */
static __always_inline void add_calls(struct proc_counts *to, const struct task_io_accounting *from) {
  if (!bpf_core_field_exists(from->rchar)) return;
  to->rchar += from->rchar;
  to->wchar += from->wchar;
  to->syscr += from->syscr;
  to->syscw += from->syscw;
}

static __always_inline void add_disk(struct proc_counts *to, const struct task_io_accounting *from) {
  if (!bpf_core_field_exists(from->read_bytes)) return;
  to->read_bytes += from->read_bytes;
  to->write_bytes += from->write_bytes;
}

struct pair {
  __u64 first, second;
};

/* Copies two fields in one call, because a call costs as much as many loads. In most kernels the second field follows the first. */
#define READ_PAIR(pair, from, type, one, two)                                                          \
  do {                                                                                                 \
    if (bpf_core_field_offset(type, two) - bpf_core_field_offset(type, one) == sizeof(__u64)) {        \
      bpf_probe_read_kernel(&(pair), sizeof(pair), (void *)(from) + bpf_core_field_offset(type, one)); \
    } else {                                                                                           \
      (pair).first = BPF_CORE_READ(from, one);                                                         \
      (pair).second = BPF_CORE_READ(from, two);                                                        \
    }                                                                                                  \
  } while (0)

/* Returns a mark that stays equal only while the thread uses no CPU time: its total CPU time mixed with its last start of
 * execution.
 */
static __u64 mark_of_thread(__u64 exec_start, __u64 exec_ns) {
  return exec_start ^ exec_ns * 0x9e3779b97f4a7c15;
}

struct walk {
  struct list_head *head, *at;
  const struct task_struct *leader;
  struct proc_counts *counts; /* null: only the mark is needed */
  __u64 exec_ns, mark;
  __u32 threads;
};

/* Visits the next thread of a process; returns 1 at the end of the list. The list is RCU-protected, and iter/task programs run
 * under RCU.
 */
static long visit_thread(__u32 index, struct walk *walk) {
  if (walk->at == walk->head || !walk->at) return 1;
  const struct task_struct *thread = (void *)walk->at - bpf_core_field_offset(struct task_struct, thread_node);
  struct proc_counts *counts = walk->counts;
  struct pair pair = {};
  READ_PAIR(pair, &thread->se, struct sched_entity, exec_start, sum_exec_runtime);
  walk->exec_ns += pair.second;
  walk->mark += mark_of_thread(pair.first, pair.second);
  ++walk->threads;
  if (counts) {
    READ_PAIR(pair, thread, struct task_struct, utime, stime);
    counts->user_ns += pair.first;
    counts->system_ns += pair.second;
    READ_PAIR(pair, thread, struct task_struct, min_flt, maj_flt);
    counts->min_flt += pair.first;
    counts->maj_flt += pair.second;
    READ_PAIR(pair, thread, struct task_struct, nvcsw, nivcsw);
    counts->nvcsw += pair.first;
    counts->nivcsw += pair.second;
    if (bpf_core_field_exists(thread->sched_info.run_delay)) counts->delay_ns += BPF_CORE_READ(thread, sched_info.run_delay);
    struct task_io_accounting io = {};
    bpf_probe_read_kernel(&io, sizeof(io), &thread->ioac);
    add_disk(counts, &io);
    /* The calls of an exiting thread are already in the map. */
    if (thread == walk->leader || !(BPF_CORE_READ(thread, flags) & PF_EXITING)) add_calls(counts, &io);
  }
  walk->at = BPF_CORE_READ(thread, thread_node.next);
  return 0;
}

/* Visits all threads of a process. Returns false if there are too many. */
static bool walk_threads(struct walk *walk, const struct signal_struct *signal) {
  walk->head = (struct list_head *)&signal->thread_head;
  walk->at = BPF_CORE_READ(signal, thread_head.next);
  if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
    bpf_loop(1 << 20, visit_thread, walk, 0);
  } else {
    for (int i = 0; i < PROC_MAX_THREADS; ++i)
      if (visit_thread(i, walk)) break;
  }
  return walk->at == walk->head;
}

/* Adds the sums of ended threads, which the kernel keeps in signal_struct (without the run-queue delay). Its ioac is not used: it
 * includes the I/O of all reaped descendants, so the same bytes would count again in each ancestor. inblock and oublock include the
 * process's threads only.
 */
static void add_ended(struct proc_counts *counts, const struct signal_struct *signal) {
  counts->exec_ns += signal->sum_sched_runtime;
  counts->user_ns += signal->utime;
  counts->system_ns += signal->stime;
  counts->min_flt += signal->min_flt;
  counts->maj_flt += signal->maj_flt;
  counts->nvcsw += signal->nvcsw;
  counts->nivcsw += signal->nivcsw;
  counts->read_bytes += (__u64)signal->inblock << 9;
  counts->write_bytes += (__u64)signal->oublock << 9;
}

static struct proc_key key_of(const struct task_struct *leader) {
  return (struct proc_key){leader->start_boottime, leader->tgid};
}

/* Adds the read and write calls of ended threads. Returns false if they are unknown. */
static bool add_ended_calls(struct proc_counts *counts, struct task_struct *leader) {
  const struct signal_struct *signal = leader->signal;
  if (signal->sum_sched_runtime == 0) return true; /* no thread has ended */
  if (!follows_exits) {
    add_calls(counts, &signal->ioac);
    return signal->cmin_flt == 0; /* it has reaped no child */
  }
  const struct proc_key key = key_of(leader);
  const struct proc_calls *ended = bpf_map_lookup_elem(&ended_threads, &key);
  if (!ended) return true;
  counts->rchar += ended->rchar;
  counts->wchar += ended->wchar;
  counts->syscr += ended->syscr;
  counts->syscw += ended->syscw;
  return true;
}

/* Returns the flags of the counters that this kernel has. */
static __u32 kernel_flags(void) {
  __u32 flags = 0;
  if (bpf_core_field_exists(struct task_io_accounting, read_bytes)) flags |= PROC_HAS_IO;
  if (bpf_core_field_exists(struct task_io_accounting, rchar)) flags |= PROC_HAS_CALLS;
  if (bpf_core_field_exists(struct sched_info, run_delay)) flags |= PROC_HAS_DELAY;
  return flags;
}
#endif
