// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Usage of every process, in one pass over the tasks; and the final account of processes that end in between.
 *
 * A full record costs several cache misses, and most processes of a host sleep. The usage of a process changes only while it runs,
 * so a process with the same CPU time as at its last record gets a record of 8 bytes. Values that others may change meanwhile
 * (memory that is reclaimed, a new parent, another cgroup) is read again in turn, once in PROC_TURNS passes.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "cgroup.h"
#include "proc.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* Indices of rss_stat, include/linux/mm_types_task.h. */
enum { MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES };

/* Set before each pass. */
__u32 pass;

/* By pid (modulo): the CPU time at the last record, mixed with the identity of the process. */
__u64 seen[PROC_SEEN];

/* The offset of per-CPU pointers on each CPU; 0 CPUs when unknown. */
__u64 cpu_offsets[PROC_MAX_CPUS];
__u32 cpu_count;

/* Exits without room in the ring, and ends of threads without room in the map. */
__u64 lost_exits;

/* Set before the load: the hooks are attached. */
const volatile bool follows_exits;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} exits SEC(".maps");

/* LRU: evicts zombies, and the few processes whose freeing the kernel never reports. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct proc_key);
  __type(value, struct proc_leaving);
} leaving SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, PROC_THREADED);
  __type(key, struct proc_key);
  __type(value, struct proc_calls);
} ended_threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u64);
} anchor SEC(".maps");

/* ---- Threads ---- */

/* Inlined: `from` is a pointer whose type the verifier knows, or a copy, and one load cannot be both. */
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

/* Copies two fields. A copy takes as long as many loads, whatever its size, and in most kernels the second field follows the first.
 */
#define READ_PAIR(pair, from, type, one, two)                                                          \
  do {                                                                                                 \
    if (bpf_core_field_offset(type, two) - bpf_core_field_offset(type, one) == sizeof(__u64)) {        \
      bpf_probe_read_kernel(&(pair), sizeof(pair), (void *)(from) + bpf_core_field_offset(type, one)); \
    } else {                                                                                           \
      (pair).first = BPF_CORE_READ(from, one);                                                         \
      (pair).second = BPF_CORE_READ(from, two);                                                        \
    }                                                                                                  \
  } while (0)

/* Equal numbers only for the same thread without CPU time in between: total and last start of execution. */
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

/* One step along the threads of a process; 1 ends the walk. The list is RCU-protected, and a reader of iter/task is inside RCU. */
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
    /* Those of a thread that exits are in the map. */
    if (thread == walk->leader || !(BPF_CORE_READ(thread, flags) & PF_EXITING)) add_calls(counts, &io);
  }
  walk->at = BPF_CORE_READ(thread, thread_node.next);
  return 0;
}

/* False when there were too many. */
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

/* Sums of ended threads, which the process keeps. It keeps no run-queue delay. Its ioac also has the I/O of all children that it
 * has reaped, and of theirs: the same bytes would count once more in each ancestor. Only inblock and oublock are of its threads.
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

/* Returns false when they are unknown. */
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

/* Flags for the counters that this kernel has. */
static __u32 kernel_flags(void) {
  __u32 flags = 0;
  if (bpf_core_field_exists(struct task_io_accounting, read_bytes)) flags |= PROC_HAS_IO;
  if (bpf_core_field_exists(struct task_io_accounting, rchar)) flags |= PROC_HAS_CALLS;
  if (bpf_core_field_exists(struct sched_info, run_delay)) flags |= PROC_HAS_DELAY;
  return flags;
}

/* ---- Current values of a process ---- */

/* A per-CPU counter of the kernel: its common part alone may be off by a batch per CPU. */
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

/* ---- The pass ---- */

static bool has_one_thread(struct task_struct *leader) {
  /* The list runs through the threads and the head in the process: with one thread both neighbours are the head. */
  return leader->thread_node.next == leader->thread_node.prev;
}

/* A thread that ends adds its sums to the process under this lock (__exit_signal in kernel/exit.c): a read in between would count
 * it twice or not at all. Odd during the transfer.
 */
static __u32 transfer_count(struct signal_struct *signal) {
  __u32 sequence = 0;
  bpf_probe_read_kernel(&sequence, sizeof(sequence), (void *)signal + bpf_core_field_offset(struct signal_struct, stats_lock));
  return sequence;
}

static void read_counts_once(struct proc_record *record, struct task_struct *task, struct signal_struct *signal) {
  struct proc_counts *counts = &record->counts;
  __builtin_memset(counts, 0, sizeof(*counts));
  if (has_one_thread(task)) {
    record->threads = 1;
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

/* Changes when the process has run; computed with the fewest memory accesses. */
static __u64 mark_of(struct task_struct *leader) {
  const __u64 state = (__u64)state_of(leader) << 32; /* waiting for a CPU is not sleeping */
  if (has_one_thread(leader)) return state ^ mark_of_thread(leader->se.exec_start, leader->se.sum_exec_runtime);
  struct walk walk = {};
  walk_threads(&walk, leader->signal);
  return state ^ walk.mark;
}

SEC("iter/task")
int every_process(struct bpf_iter__task *ctx) {
  struct task_struct *task = ctx->task;
  if (!task || task->pid != task->tgid) return 0;
  struct seq_file *seq = ctx->meta->seq;
  const __u32 slot = (__u32)task->pid % PROC_SEEN;
  /* Differs between processes, and is never 0, the value of unused slots. */
  const __u64 mark = mark_of(task) + (__u64)task->pid * 0xd6e8feb86659fd93;
  if (seen[slot] == mark && ((__u32)task->pid + pass) % PROC_TURNS != 0) {
    struct proc_head head = {.kind = PROC_IDLE, .pid = task->pid};
    bpf_seq_write(seq, &head, sizeof(head));
    return 0;
  }
  struct proc_record record = {};
  fill(&record, task);
  /* When the buffer is full the kernel calls again for the same task: only written records count as reported. */
  if (bpf_seq_write(seq, &record, sizeof(record)) == 0) seen[slot] = record.flags & PROC_PARTIAL ? ~mark : mark;
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
                               .solo = signal->nr_threads == 1 && signal->sum_sched_runtime == 0};
  BPF_CORE_READ_INTO(&entry.comm, leader, comm);
  BPF_CORE_READ_INTO(&entry.parent, leader, real_parent, group_leader, comm);
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
  bpf_ringbuf_submit(end, BPF_RB_NO_WAKEUP);
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
