// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Usage of every process, in one pass over the tasks; and the final account of processes that end in between. */
#include "proc_values.bpf.h"

#include <bpf/bpf_tracing.h>

#include "cgroup.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Exits without room in the ring, and ends of threads without room in the map. */
__u64 lost_exits;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, PROC_ENDS_BYTES);
} exits SEC(".maps");

/* LRU: evicts zombies, and the few processes whose freeing the kernel never reports. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct proc_key);
  __type(value, struct proc_leaving);
} leaving SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} anchor SEC(".maps");

/* ---- The pass ---- */

SEC("iter/task")
int every_process(struct bpf_iter__task *ctx) {
  struct task_struct *task = ctx->task;
  if (!task || task->pid != task->tgid) return 0;
  struct seq_file *seq = ctx->meta->seq;
  const __u64 mark = identified_mark_of(task);
  if (rests(task->pid, mark)) {
    struct proc_head head = {.kind = PROC_IDLE, .pid = task->pid};
    bpf_seq_write(seq, &head, sizeof(head));
    return 0;
  }
  struct proc_record record = {};
  fill(&record, task);
  /* When the buffer is full the kernel calls again for the same task: only written records count as reported. */
  if (bpf_seq_write(seq, &record, sizeof(record)) == 0) keep_mark(&record, mark);
  return 0;
}

/* ---- Ends ---- */

/* The kernel keeps the calls of a leader with the process, except when another thread runs another program and becomes the leader.
 */
static bool loses_calls(struct task_struct *task) {
  if (task != task->group_leader) return true;
  const struct signal_struct *signal = task->signal;
  return bpf_core_field_exists(signal->group_exec_task) && BPF_CORE_READ(signal, group_exec_task) != NULL;
}

static void keep_calls(const struct proc_key *key, const struct task_struct *thread) {
  struct proc_counts counts = {};
  add_calls(&counts, &thread->ioac);
  struct proc_calls *sum = bpf_map_lookup_elem(&ended_threads, key);
  if (!sum) {
    const struct proc_calls none = {};
    bpf_map_update_elem(&ended_threads, key, &none, BPF_NOEXIST);
    sum = bpf_map_lookup_elem(&ended_threads, key);
  }
  if (!sum) {
    __sync_fetch_and_add(&lost_exits, 1);
    return;
  }
  __sync_fetch_and_add(&sum->rchar, counts.rchar);
  __sync_fetch_and_add(&sum->wchar, counts.wchar);
  __sync_fetch_and_add(&sum->syscr, counts.syscr);
  __sync_fetch_and_add(&sum->syscw, counts.syscw);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exits, struct task_struct *task) {
  struct signal_struct *signal = task->signal;
  struct task_struct *leader = task->group_leader;
  const struct proc_key key = key_of(leader);
  if (loses_calls(task)) keep_calls(&key, task);
  if (signal->live.counter != 0) return 0; /* other threads still run */
  struct proc_leaving entry = {.exit_ns = bpf_ktime_get_ns(),
                               .cgroup = cgroup_of(leader),
                               .solo = signal->nr_threads == 1 && signal->sum_sched_runtime == 0,
                               .flags = kernel_flags()};
  if (entry.solo) read_only_thread(&entry.counts, task);
  BPF_CORE_READ_INTO(&entry.comm, leader, comm);
  BPF_CORE_READ_INTO(&entry.parent, leader, real_parent, group_leader, comm);
  entry.parent_pid = BPF_CORE_READ(leader, real_parent, tgid);
  bpf_map_update_elem(&leaving, &key, &entry, BPF_ANY);
  return 0;
}

static void report_end(struct task_struct *task, const struct proc_leaving *entry) {
  struct proc_exit *end = bpf_ringbuf_reserve(&exits, sizeof(*end), 0);
  if (!end) {
    __sync_fetch_and_add(&lost_exits, 1);
    return;
  }
  __builtin_memset(end, 0, sizeof(*end));
  end->pid = task->tgid;
  end->flags = kernel_flags();
  end->start_ns = task->start_boottime;
  end->cgroup = entry->cgroup;
  __builtin_memcpy(end->comm, entry->comm, sizeof(end->comm));
  __builtin_memcpy(end->parent, entry->parent, sizeof(end->parent));
  end->parent_pid = entry->parent_pid;
  add_ended(&end->counts, task->signal);
  add_calls(&end->counts, &task->ioac);
  /* The sums of the process lack the task's last CPU time; with one thread the task's own time is exact. */
  if (entry->solo) {
    end->flags |= PROC_SOLO;
    end->counts.exec_ns = task->se.sum_exec_runtime;
    if (bpf_core_field_exists(task->sched_info.run_delay)) end->counts.delay_ns = task->sched_info.run_delay;
  } else {
    add_ended_calls(&end->counts, task);
  }
  const bool much = bpf_ringbuf_query(&exits, BPF_RB_AVAIL_DATA) >= PROC_ENDS_BYTES / 2;
  bpf_ringbuf_submit(end, much ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* Here the last CPU time is included in the time of the task; at the exit it is not. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(process_is_freed, struct task_struct *task) {
  if (task->pid != task->tgid) return 0;
  const struct proc_key key = key_of(task);
  const struct proc_leaving *entry = bpf_map_lookup_elem(&leaving, &key);
  if (!entry) return 0; /* it ended before the start, or was reported already as a process without freeing */
  report_end(task, entry);
  if (!entry->solo) bpf_map_delete_elem(&ended_threads, &key);
  bpf_map_delete_elem(&leaving, &key);
  return 0;
}

/* ---- Per-CPU memory ---- */

/* A per-CPU pointer and its address on a CPU differ by the same amount for all pointers. A map of this program shows both; the
 * loader subtracts them, which the verifier does not allow in a program.
 */
__u64 anchor_pointer, anchor_values[PROC_MAX_CPUS];
__u32 anchor_count;

struct bpf_array {
  void *pptrs[1];
} __attribute__((preserve_access_index));

SEC("syscall")
int find_cpu_offsets(void *ctx) {
  const __u32 first = 0;
  __u64 array[48]; /* the beginning of the kernel's structure of the map; the verifier does not allow direct access to its end */
  const __u32 at = bpf_core_field_offset(struct bpf_array, pptrs) / sizeof(__u64);
  if (at >= 48 || bpf_probe_read_kernel(array, sizeof(array), &anchor) != 0) return 0;
  anchor_pointer = array[at];
  for (__u32 cpu = 0; cpu < PROC_MAX_CPUS; ++cpu) {
    const void *value = bpf_map_lookup_percpu_elem(&anchor, &first, cpu);
    if (!value) break;
    anchor_values[cpu] = (__u64)value;
    anchor_count = cpu + 1;
  }
  return 0;
}