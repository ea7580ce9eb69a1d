// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports the renames of threads that may run tasks, and delays the last wait of each until its task is known. */
#ifndef ATALAYA_BPF_PERF_TASKS_H
#define ATALAYA_BPF_PERF_TASKS_H

#include "perf_stacks.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, struct perf_pending_wait);
} held SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18);
} renamed SEC(".maps");

static __always_inline void add_wait(struct perf_pending_wait *wait, __u32 into) {
  if (wait->ns) add(&wait->key, wait->comm, wait->thread, wait->ns, into);
  if (!wait->queued_ns) return;
  struct perf_key key = wait->key;
  key.flags |= PERF_QUEUED;
  add(&key, wait->comm, wait->thread, wait->queued_ns, into);
}

/* Counts the delayed wait. in_task: another wait followed, so the thread waited inside its task, not for the next one. */
static void release(__u32 thread, bool in_task, __u32 into) {
  struct perf_pending_wait *last = bpf_map_lookup_elem(&held, &thread);
  if (!last) return;
  struct perf_pending_wait wait = *last;
  bpf_map_delete_elem(&held, &thread);
  if (!in_task) wait.key.thread = wait.key.epoch = 0;
  add_wait(&wait, into);
}

static void report_name(const struct task_struct *task, const char *name, __u64 now) {
  struct perf_renamed *record = bpf_ringbuf_reserve(&renamed, sizeof(*record), 0);
  if (!record) return;
  __builtin_memset(record, 0, sizeof(*record));
  describe(&record->process, task);
  record->epoch = now;
  record->thread = BPF_CORE_READ(task, pid);
  __builtin_memcpy(record->name, name, PERF_COMM);
  bpf_ringbuf_submit(record, 0);
}

/* A thread that is renamed to another task has waited for that task; a thread with a name of no task has ended its task now. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name) {
  const __u64 now = bpf_ktime_get_ns();
  const __u32 thread = task->pid;
  char text[PERF_COMM] = {};
  bpf_probe_read_kernel_str(text, sizeof(text), name);
  const bool is_task = may_run_tasks(text);
  release(thread, !is_task, set & 1);
  if (is_task) {
    if (bpf_map_update_elem(&epochs, &thread, &now, BPF_ANY) == 0) report_name(task, text, now);
  } else if (bpf_map_delete_elem(&epochs, &thread) == 0) {
    report_name(task, text, now);
  }
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  const __u32 thread = task->pid;
  bpf_map_delete_elem(&epochs, &thread);
  bpf_map_delete_elem(&runs_of_threads, &thread);
  release(thread, false, set & 1);
  return 0;
}

#endif
