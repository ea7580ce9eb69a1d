// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes the record of a process. Invariant: usage changes only while a process runs, so a process whose CPU time is unchanged
 * since its last record gets a record of 8 bytes. Values that change without it (reclaimed memory, a new parent, another cgroup)
 * are read once in PROC_TURNS passes.
 */
#ifndef ATALAYA_BPF_PROC_VALUES_H
#define ATALAYA_BPF_PROC_VALUES_H

#include "proc_threads.bpf.h"

#define PF_KTHREAD 0x00200000

/* Indices of rss_stat, include/linux/mm_types_task.h. */
enum { MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES };

/* Set by user space before each pass: a pid is read in full if pid modulo PROC_TURNS equals `turn`. PROC_TURNS: no pid. */
__u32 turn;

/* By pid modulo PROC_SEEN: the CPU time at the last record, mixed with the identity of the process. */
__u64 seen[PROC_SEEN];

/* The offset of per-CPU pointers on each CPU; the number of CPUs is 0 if they are unknown. */
__u64 cpu_offsets[PROC_MAX_CPUS];
__u32 cpu_count;

/* Returns the exact value of a per-CPU counter; its common part alone may be wrong by one batch per CPU. */
static __s64 sum_of(struct percpu_counter *counter) {
  __s64 sum = counter->count;
  __s32 *counters = counter->counters;
  for (__u32 cpu = 0; cpu < PROC_MAX_CPUS; ++cpu) {
    __s32 part = 0;
    if (cpu >= cpu_count) break;
    if (bpf_probe_read_kernel(&part, sizeof(part), (void *)counters + cpu_offsets[cpu]) == 0) sum += part;
  }
  return sum > 0 ? sum : 0;
}

static bool read_memory(struct proc_record *record, struct task_struct *task) {
  struct mm_struct *mm = task->mm;
  if (!mm) return false;
  record->virtual_size = mm->total_vm;
  struct mm_struct___before_6_2 *old = (void *)mm;
  if (bpf_core_field_exists(old->rss_stat.count)) {
    record->resident = BPF_CORE_READ(old, rss_stat.count[MM_FILEPAGES].counter) +
                       BPF_CORE_READ(old, rss_stat.count[MM_ANONPAGES].counter) +
                       BPF_CORE_READ(old, rss_stat.count[MM_SHMEMPAGES].counter);
    record->swap = BPF_CORE_READ(old, rss_stat.count[MM_SWAPENTS].counter);
  } else {
    record->resident =
        sum_of(&mm->rss_stat[MM_FILEPAGES]) + sum_of(&mm->rss_stat[MM_ANONPAGES]) + sum_of(&mm->rss_stat[MM_SHMEMPAGES]);
    record->swap = sum_of(&mm->rss_stat[MM_SWAPENTS]);
  }
  return task->mm == mm; /* else it was freed meanwhile */
}

static __u32 bits(__u64 word) {
  word = word - ((word >> 1) & 0x5555555555555555);
  word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (word * 0x0101010101010101) >> 56;
}

static bool count_files(struct proc_record *record, struct task_struct *task) {
  struct files_struct *files = task->files;
  if (!files) return false;
  struct fdtable *table = files->fdt;
  if (!table) return false;
  const __u32 words = table->max_fds / 64;
  unsigned long *open = table->open_fds;
  if (words > PROC_MAX_FILES) return false;
  __u32 count = 0;
  for (__u32 i = 0; i < PROC_MAX_FILES; ++i) {
    __u64 word = 0;
    if (i >= words) break;
    if (bpf_probe_read_kernel(&word, sizeof(word), open + i) != 0) return false;
    if (word) count += bits(word);
  }
  record->open_files = count;
  return task->files == files;
}

static __u32 state_of(struct task_struct *task) {
  __u32 state;
  if (bpf_core_field_exists(task->__state))
    state = task->__state;
  else
    state = BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
  return (state & 0xffff) | (__u32)task->exit_state << 16;
}

static bool has_one_thread(struct task_struct *leader) {
  /* The circular list consists of the threads and a head in signal_struct: with one thread both neighbours are the head. */
  return leader->thread_node.next == leader->thread_node.prev;
}

/* Returns the sequence number of the lock under which an ending thread adds its sums to the process (__exit_signal in
 * kernel/exit.c). It is odd during the transfer; a read then would count the thread twice or not at all.
 */
static __u32 transfer_count(struct signal_struct *signal) {
  __u32 sequence = 0;
  bpf_probe_read_kernel(&sequence, sizeof(sequence), (void *)signal + bpf_core_field_offset(struct signal_struct, stats_lock));
  return sequence;
}

static void read_only_thread(struct proc_counts *counts, struct task_struct *task) {
  counts->exec_ns = task->se.sum_exec_runtime;
  counts->user_ns = task->utime;
  counts->system_ns = task->stime;
  counts->min_flt = task->min_flt;
  counts->maj_flt = task->maj_flt;
  counts->nvcsw = task->nvcsw;
  counts->nivcsw = task->nivcsw;
  if (bpf_core_field_exists(task->sched_info.run_delay)) counts->delay_ns = task->sched_info.run_delay;
  add_disk(counts, &task->ioac);
  add_calls(counts, &task->ioac);
}

static void read_counts_once(struct proc_record *record, struct task_struct *task, struct signal_struct *signal) {
  struct proc_counts *counts = &record->counts;
  __builtin_memset(counts, 0, sizeof(*counts));
  if (has_one_thread(task)) {
    record->threads = 1;
    read_only_thread(counts, task);
  } else {
    struct walk walk = {.leader = task, .counts = counts};
    if (!walk_threads(&walk, signal)) record->flags |= PROC_PARTIAL;
    record->threads = walk.threads;
    counts->exec_ns = walk.exec_ns;
  }
  record->ended_exec_ns = signal->sum_sched_runtime;
  add_ended(counts, signal);
  if (!add_ended_calls(counts, task)) record->flags &= ~PROC_HAS_CALLS;
}

static void read_counts(struct proc_record *record, struct task_struct *task) {
  struct signal_struct *signal = task->signal;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const __u32 before = transfer_count(signal);
    read_counts_once(record, task, signal);
    if (before % 2 == 0 && transfer_count(signal) == before) return;
  }
  record->flags |= PROC_PARTIAL;
}

static void fill(struct proc_record *record, struct task_struct *task) {
  record->head.kind = PROC_FULL;
  record->head.pid = task->pid;
  record->flags = kernel_flags();
  if (task->flags & PF_KTHREAD)
    record->flags |= PROC_KERNEL_THREAD;
  else if (read_memory(record, task))
    record->flags |= PROC_HAS_MEMORY;
  if (count_files(record, task)) record->flags |= PROC_HAS_FILES;
  record->parent = task->real_parent->tgid;
  record->user = task->real_cred->euid.val;
  record->state = state_of(task);
  record->start_ns = task->start_boottime;
  BPF_CORE_READ_INTO(&record->comm, task, comm);
  record->read_ns = bpf_ktime_get_ns();
  read_counts(record, task);
}

/* Returns a number that changes when the process runs; it needs the fewest possible memory accesses. */
static __u64 mark_of(struct task_struct *leader) {
  const __u64 state = (__u64)state_of(leader) << 32; /* waiting for a CPU is not sleeping */
  if (has_one_thread(leader)) return state ^ mark_of_thread(leader->se.exec_start, leader->se.sum_exec_runtime);
  struct walk walk = {};
  walk_threads(&walk, leader->signal);
  return state ^ walk.mark;
}

/* Returns mark_of mixed with the identity of the process; never 0, the value of unused slots. */
static __u64 identified_mark_of(struct task_struct *leader) {
  return mark_of(leader) + (__u64)leader->pid * 0xd6e8feb86659fd93;
}

static __u64 *seen_of(__s32 pid) {
  return &seen[(__u32)pid % PROC_SEEN];
}

static bool rests(__s32 pid, __u64 mark) {
  return *seen_of(pid) == mark && (__u32)pid % PROC_TURNS != turn;
}

/* Stores the mark of a complete record. A record with incomplete counters gets none, so the next pass reads the process again. */
static void keep_mark(const struct proc_record *record, __u64 mark) {
  *seen_of(record->head.pid) = record->flags & PROC_PARTIAL ? ~mark : mark;
}

#endif
