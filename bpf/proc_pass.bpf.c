// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Usage of every process in one call: the same records as from the iterator of proc.bpf.c, for kernels in which a program can walk
 * the list of processes by itself (since 6.7: c68a78ffe2cb). An iterator is called for each thread, by way of a file.
 */
#include "proc_values.bpf.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Of `records`, set before the load. */
const volatile __u32 capacity = PROC_PASS_BYTES;

/* Of the last pass: whole records, their size in bytes, and whether processes are missing because there was no room. */
__u8 records[PROC_PASS_BYTES] __attribute__((aligned(8)));
__u32 filled;
__u32 overflowed;

/* include/uapi/linux/bpf.h and kernel/bpf/task_iter.c. */
enum { BPF_TASK_ITER_ALL_PROCS };

struct bpf_iter_task {
  __u64 opaque[3];
} __attribute__((aligned(8)));

extern int bpf_iter_task_new(struct bpf_iter_task *walk, struct task_struct *task, unsigned int flags) __ksym;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *walk) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task *walk) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym;

/* The process of the next report. A pointer cannot be passed to a global function before 6.8. */
__u64 reported;

/* Global, so that the verifier reads it once and not again in each round of the walk. */
__noinline int report(void) {
  struct task_struct *task = bpf_rdonly_cast((void *)reported, bpf_core_type_id_kernel(struct task_struct));
  const __u32 at = filled;
  if (at + sizeof(struct proc_record) > capacity || at > PROC_PASS_BYTES - sizeof(struct proc_record)) {
    overflowed = 1;
    return 0;
  }
  struct proc_record *record = (void *)&records[at];
  const __u64 mark = identified_mark_of(task);
  if (rests(task->pid, mark)) {
    record->head = (struct proc_head){.kind = PROC_IDLE, .pid = task->pid};
    filled = at + sizeof(struct proc_head);
    return 0;
  }
  fill(record, task);
  keep_mark(record, mark);
  filled = at + sizeof(*record);
  return 0;
}

SEC("syscall")
int every_process_at_once(void *ctx) {
  struct bpf_iter_task walk;
  struct task_struct *task;
  filled = overflowed = 0;
  bpf_rcu_read_lock();
  bpf_iter_task_new(&walk, NULL, BPF_TASK_ITER_ALL_PROCS);
  while ((task = bpf_iter_task_next(&walk))) {
    if (task->pid == 0) continue; /* the idle task, which comes first */
    reported = (__u64)task;
    report();
  }
  bpf_iter_task_destroy(&walk);
  bpf_rcu_read_unlock();
  return 0;
}
