// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps of stacks, processes and counts, which all programs of perf.bpf.c share. */
#ifndef ATALAYA_BPF_PERF_STACKS_H
#define ATALAYA_BPF_PERF_STACKS_H

#include "perf_task_names.bpf.h"

/* Index of the set of maps that the programs write to; user space reads the other set. */
__u32 set;

struct perf_totals totals[2];

struct counts {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct perf_key);
  __type(value, struct perf_count);
} counts_0 SEC(".maps"), counts_1 SEC(".maps");

/* Ticks of a cycle counter are non-maskable interrupts. A tick that interrupts the switch program while that holds the lock of an
 * LRU map would deadlock. So each program has its own LRU maps; the inline functions below select them at compile time.
 */
enum { TICK, SWITCH };

/* Stacks by hash; a full map evicts the least recently used stack. */
struct stacks {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64);
  __type(value, struct perf_stack);
} tick_stacks SEC(".maps"), switch_stacks SEC(".maps");

/* Buffer in which each program builds a stack. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 2);
  __type(key, __u32);
  __type(value, struct perf_stack);
} scratch SEC(".maps");

struct known {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct perf_process);
  __type(value, __u8);
} tick_known SEC(".maps"), switch_known SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 16);
} seen SEC(".maps");

static __u64 hash_of(const struct perf_stack *stack) {
  __u64 hash = stack->size;
  for (__u32 i = 0; i < PERF_FRAMES; ++i) {
    if (i >= stack->size) break;
    hash = (hash ^ stack->frames[i]) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash ? hash : 1;
}

/* The constant `program` is tested before its address is used: afterwards the compiler no longer knows its value. */
static __always_inline void *stacks_of(__u32 program) {
  return program == TICK ? (void *)&tick_stacks : (void *)&switch_stacks;
}

static __always_inline void keep(void *stacks, __u64 hash, const struct perf_stack *stack) {
  if (!bpf_map_lookup_elem(stacks, &hash)) bpf_map_update_elem(stacks, &hash, stack, BPF_NOEXIST);
}

/* Reads the innermost frames of the current stack into the program's buffer; null: no stack. */
static __always_inline struct perf_stack *read_frames(void *context, __u64 flags, __u32 program, __u32 frames) {
  struct perf_stack *stack = bpf_map_lookup_elem(&scratch, &program);
  if (!stack) return 0;
  const long bytes = bpf_get_stack(context, stack->frames, frames * sizeof(__u64), flags);
  if (bytes <= 0) return 0;
  stack->size = bytes / sizeof(__u64);
  return stack;
}

/* Stores the innermost frames of the current stack and returns their hash; 0: no stack. If the map is full, the hash is returned
 * but not in the map.
 */
static __always_inline __u64 store_frames(void *context, __u64 flags, __u32 program, __u32 frames) {
  void *stacks = stacks_of(program);
  struct perf_stack *stack = read_frames(context, flags, program, frames);
  if (!stack) return 0;
  const __u64 hash = hash_of(stack);
  keep(stacks, hash, stack);
  return hash;
}

static __always_inline __u64 store_stack(void *context, __u64 flags, __u32 program) {
  return store_frames(context, flags, program, PERF_FRAMES);
}

enum { PF_KTHREAD = 0x00200000 }; /* linux/sched.h */

static void describe(struct perf_process *process, const struct task_struct *task) {
  const struct mm_struct *mm = BPF_CORE_READ(task, mm);
  process->pid = BPF_CORE_READ(task, tgid);
  process->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
  if (!mm || BPF_CORE_READ(task, flags) & PF_KTHREAD) return; /* which may borrow memory */
  const __u64 factor = 0x100000001b3;
  process->image = (BPF_CORE_READ(mm, start_code) * factor + BPF_CORE_READ(mm, end_code)) * factor + BPF_CORE_READ(mm, start_stack);
}

/* Reports a process to user space, which reads its memory maps before it ends. A second report marks a process that is not
 * short-lived.
 */
static __always_inline void announce(const struct perf_process *process, const char *comm, __u32 program) {
  if (process->image == 0) return;
  void *known = program == TICK ? (void *)&tick_known : (void *)&switch_known;
  const __u8 one = 1;
  __u8 *times = bpf_map_lookup_elem(known, process);
  if (times && *times > 1) return;
  struct perf_seen *record = bpf_ringbuf_reserve(&seen, sizeof(*record), 0);
  if (!record) return;
  record->process = *process;
  record->again = times != 0;
  record->unused = 0;
  __builtin_memcpy(record->comm, comm, PERF_COMM);
  bpf_ringbuf_submit(record, 0);
  if (times)
    *times = 2;
  else
    bpf_map_update_elem(known, process, &one, BPF_ANY);
}

static __always_inline struct perf_count *count_of(const struct perf_key *key, __u32 now) {
  return now ? bpf_map_lookup_elem(&counts_1, key) : bpf_map_lookup_elem(&counts_0, key);
}

/* Adds the first count of a key; null: the map is full. */
static struct perf_count *first_count(const struct perf_key *key, const char *comm, const char *thread, __u32 now) {
  struct perf_count first = {};
  __builtin_memcpy(first.comm, comm, PERF_COMM);
  __builtin_memcpy(first.thread, thread, PERF_COMM);
  bpf_map_update_elem(now ? (void *)&counts_1 : (void *)&counts_0, key, &first, BPF_NOEXIST);
  return count_of(key, now);
}

static __always_inline void add_to(struct perf_count *count, __u64 ns, __u32 now) {
  __sync_fetch_and_add(&totals[now].samples, 1);
  if (!count) {
    __sync_fetch_and_add(&totals[now].lost, 1);
    return;
  }
  __sync_fetch_and_add(&count->count, 1);
  if (ns) __sync_fetch_and_add(&count->ns, ns);
}

static void add(const struct perf_key *key, const char *comm, const char *thread, __u64 ns, __u32 now) {
  struct perf_count *count = count_of(key, now);
  if (!count) count = first_count(key, comm, thread, now);
  add_to(count, ns, now);
}

/* Reads the name of the task's process. */
static __always_inline void read_comm(char *comm, const struct task_struct *task) {
  bpf_probe_read_kernel_str(comm, PERF_COMM, &BPF_CORE_READ(task, group_leader)->comm);
}

/* Sets process and thread of the key, and the thread's name. */
static __always_inline void init_key(struct perf_key *key, char *thread, const struct task_struct *task) {
  describe(&key->process, task);
  add_thread(key, thread, task);
  if (key->process.image) key->flags |= PERF_HAS_USER;
}

static __always_inline void add_stacks(struct perf_key *key, void *context, __u32 program) {
  key->kernel = store_stack(context, 0, program);
  if (key->process.image) key->user = store_stack(context, BPF_F_USER_STACK, program);
}

/* Returns true for a thread that leaves its CPU but stays runnable (sched_yield). */
static bool is_runnable(const struct task_struct *task) {
  if (bpf_core_field_exists(task->__state)) return BPF_CORE_READ(task, __state) == 0;
  return BPF_CORE_READ((const struct task_struct___before_5_14 *)task, state) == 0;
}

#endif
