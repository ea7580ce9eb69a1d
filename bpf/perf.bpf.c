// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counts stacks at each tick of a perf event, and the time that threads waited in them.
 *
 * A stack is stored once, under the 64-bit hash of its frames: the kernel's own stack map uses a 32-bit hash and drops collisions.
 * Counts are in two maps; user space switches `set` to the other one and then reads the first.
 */
#include "kernel.h"

#include <asm/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "perf.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Index of the set that is written to. */
__u32 set;

struct perf_totals totals[2];

/* PERF_COPY_* */
const volatile __u32 copies;

/* Minimum wait to report. */
__u64 min_wait_ns;

const volatile __u32 prefixes;
const volatile struct perf_prefix prefix[PERF_PREFIXES];

struct counts {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct perf_key);
  __type(value, struct perf_count);
} counts_0 SEC(".maps"), counts_1 SEC(".maps");

/* With a cycle counter, ticks are non-maskable interrupts: a tick that interrupts the other program while it holds the lock of an
 * LRU map would deadlock. So each program has its own LRU maps, and inline functions below select them at compile time.
 */
enum { TICK, SWITCH };

/* LRU: the least recently used are evicted. */
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

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, struct perf_waiting);
} waiting SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct perf_process);
  __type(value, __u8);
} listed SEC(".maps");

/* The epoch of each renamed thread that may run tasks. Not LRU: on_tick reads it, and reading an LRU map also takes its lock. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, __u64);
} epochs SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, struct perf_held);
} held SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 18);
} renamed SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);
} stack_copies SEC(".maps");

static __u64 hash_of(const struct perf_stack *stack) {
  __u64 hash = stack->size;
  for (__u32 i = 0; i < PERF_FRAMES; ++i) {
    if (i >= stack->size) break;
    hash = (hash ^ stack->frames[i]) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash ? hash : 1;
}

/* Stores the current stack and returns its hash; 0: no stack. If the map is full, user space does not find the hash there. */
static __always_inline __u64 keep_stack(void *context, __u64 flags, __u32 program) {
  void *stacks = program == TICK ? (void *)&tick_stacks : (void *)&switch_stacks;
  struct perf_stack *stack = bpf_map_lookup_elem(&scratch, &program);
  if (!stack) return 0;
  const long size = bpf_get_stack(context, stack->frames, sizeof(stack->frames), flags);
  if (size <= 0) return 0;
  stack->size = size / sizeof(__u64);
  const __u64 hash = hash_of(stack);
  if (!bpf_map_lookup_elem(stacks, &hash)) bpf_map_update_elem(stacks, &hash, stack, BPF_NOEXIST);
  return hash;
}

static void describe(struct perf_process *process, const struct task_struct *task) {
  const struct mm_struct *mm = BPF_CORE_READ(task, mm);
  process->pid = BPF_CORE_READ(task, tgid);
  process->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
  if (!mm || BPF_CORE_READ(task, flags) & 0x00200000 /* PF_KTHREAD, which may borrow memory */) return;
  const __u64 factor = 0x100000001b3;
  process->image = (BPF_CORE_READ(mm, start_code) * factor + BPF_CORE_READ(mm, end_code)) * factor + BPF_CORE_READ(mm, start_stack);
}

/* User space reads a process's maps while it lives. It prefers processes that are seen twice to short-lived ones. */
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

static void add(const struct perf_key *key, const char *comm, const char *thread, __u64 ns, __u32 now) {
  void *counts = now ? (void *)&counts_1 : (void *)&counts_0;
  __sync_fetch_and_add(&totals[now].samples, 1);
  struct perf_count *count = bpf_map_lookup_elem(counts, key);
  if (!count) {
    struct perf_count first = {};
    __builtin_memcpy(first.comm, comm, PERF_COMM);
    __builtin_memcpy(first.thread, thread, PERF_COMM);
    bpf_map_update_elem(counts, key, &first, BPF_NOEXIST);
    count = bpf_map_lookup_elem(counts, key);
  }
  if (!count) {
    __sync_fetch_and_add(&totals[now].lost, 1);
    return;
  }
  __sync_fetch_and_add(&count->count, 1);
  if (ns) __sync_fetch_and_add(&count->ns, ns);
}

/* ---- Threads that may run tasks ---- */

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
  if (prefixes == 0) return;
  bpf_probe_read_kernel_str(name, PERF_COMM, &task->comm);
  if (!may_run_tasks(name)) return;
  key->thread = BPF_CORE_READ(task, pid);
  const __u64 *epoch = bpf_map_lookup_elem(&epochs, &key->thread);
  if (epoch) key->epoch = *epoch;
}

/* Sets the process and the kernel part of the stack. */
static __always_inline void begin_key(struct perf_key *key, char *comm, char *thread, void *context, const struct task_struct *task,
                                      __u32 program) {
  describe(&key->process, task);
  add_thread(key, thread, task);
  bpf_probe_read_kernel_str(comm, PERF_COMM, &BPF_CORE_READ(task, group_leader)->comm);
  if (key->process.image) key->flags |= PERF_HAS_USER;
  key->kernel = keep_stack(context, 0, program);
}

static __always_inline void add_user(struct perf_key *key, void *context, __u32 program) {
  if (key->process.image) key->user = keep_stack(context, BPF_F_USER_STACK, program);
}

/* ---- Copies of stacks ---- */

static void number_registers(__u64 *to, const struct pt_regs *from) {
#if defined(__TARGET_ARCH_x86)
  to[0] = from->rax;
  to[1] = from->rdx;
  to[2] = from->rcx;
  to[3] = from->rbx;
  to[4] = from->rsi;
  to[5] = from->rdi;
  to[6] = from->rbp;
  to[7] = from->rsp;
  to[8] = from->r8;
  to[9] = from->r9;
  to[10] = from->r10;
  to[11] = from->r11;
  to[12] = from->r12;
  to[13] = from->r13;
  to[14] = from->r14;
  to[15] = from->r15;
  to[16] = from->rip;
#else
  const struct user_pt_regs *registers = (const struct user_pt_regs *)from;
  for (int i = 0; i < 31; ++i) to[i] = registers->regs[i];
  to[31] = registers->sp;
  to[32] = registers->pc;
#endif
}

#if defined(__TARGET_ARCH_x86)
#define STACK_POINTER(registers) ((registers)[7])
typedef struct pt_regs user_registers;
#else
#define STACK_POINTER(registers) ((registers)[31])
typedef struct user_pt_regs user_registers;
#endif

/* False: the ring is full. */
static bool copy_stack(const struct perf_key *key, const char *comm, const char *thread, __u32 now) {
  struct task_struct *task = bpf_get_current_task_btf();
  user_registers registers;
  if (bpf_probe_read_kernel(&registers, sizeof(registers), (void *)bpf_task_pt_regs(task)) != 0) return false;
  struct perf_copy *copy = bpf_ringbuf_reserve(&stack_copies, sizeof(*copy), 0);
  if (!copy) return false;
  copy->process = key->process;
  copy->kernel = key->kernel;
  copy->set = now;
  copy->thread = key->thread;
  copy->epoch = key->epoch;
  __builtin_memcpy(copy->comm, comm, PERF_COMM);
  __builtin_memcpy(copy->thread_name, thread, PERF_COMM);
  __builtin_memset(copy->registers, 0, sizeof(copy->registers));
  number_registers(copy->registers, (const struct pt_regs *)&registers);
  copy->begin = STACK_POINTER(copy->registers) & ~(__u64)(PERF_COPY_PART - 1);
  __u32 parts = 0;
  for (; parts < PERF_COPY_PARTS; ++parts) {
    const __u64 from = copy->begin + (__u64)parts * PERF_COPY_PART;
    if (bpf_probe_read_user(copy->bytes + parts * PERF_COPY_PART, PERF_COPY_PART, (void *)from) != 0) break;
  }
  copy->size = (__u64)parts * PERF_COPY_PART;
  /* The reader polls ten times a second; wake it early only when the ring fills. */
  const bool much = bpf_ringbuf_query(&stack_copies, BPF_RB_AVAIL_DATA) > 2 << 20;
  bpf_ringbuf_submit(copy, much ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
  return true;
}

static bool try_copy(const struct perf_key *key, const char *comm, const char *thread, __u32 now) {
  if (key->process.image == 0) return false;
  if (copies == PERF_COPY_LISTED && !bpf_map_lookup_elem(&listed, &key->process)) return false;
  if (copies == PERF_COPY_UNLISTED && bpf_map_lookup_elem(&listed, &key->process)) return false;
  if (copy_stack(key, comm, thread, now)) {
    __sync_fetch_and_add(&totals[now].samples, 1);
    return true;
  }
  __sync_fetch_and_add(&totals[now].not_copied, 1);
  return false;
}

/* ---- On-CPU ---- */

SEC("perf_event")
int on_tick(void *context) {
  const __u64 begin = bpf_ktime_get_ns();
  const __u32 now = set & 1;
  const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
  if (BPF_CORE_READ(task, pid) == 0) return 0; /* idle */
  struct perf_key key = {};
  char comm[PERF_COMM] = {}, thread[PERF_COMM] = {};
  begin_key(&key, comm, thread, context, task, TICK);
  if (copies == PERF_COPY_NONE || !try_copy(&key, comm, thread, now)) {
    add_user(&key, context, TICK);
    add(&key, comm, thread, 0, now);
  }
  announce(&key.process, comm, TICK);
  __sync_fetch_and_add(&totals[now].cost_ns, bpf_ktime_get_ns() - begin);
  return 0;
}

/* ---- Off-CPU ---- */

/* Whether a thread that leaves its CPU voluntarily is still runnable: it only yields. */
static bool is_runnable(const struct task_struct *task) {
  if (bpf_core_field_exists(task->__state)) return BPF_CORE_READ(task, __state) == 0;
  return BPF_CORE_READ((const struct task_struct___before_5_14 *)task, state) == 0;
}

/* The thread starts to wait. */
static void begin_wait(void *context, const struct task_struct *task, __u64 now) {
  struct perf_waiting entry = {.since_ns = now, .key.flags = PERF_OFF_CPU};
  const __u32 thread = BPF_CORE_READ(task, pid);
  begin_key(&entry.key, entry.comm, entry.thread, context, task, SWITCH);
  add_user(&entry.key, context, SWITCH);
  bpf_map_update_elem(&waiting, &thread, &entry, BPF_ANY);
}

/* The thread leaves its CPU although it could run. Its stack is not read: it waits for a CPU, not for its own code. */
static void begin_queue(const struct task_struct *task, __u64 now) {
  struct perf_waiting entry = {.since_ns = now, .woken_ns = now, .key.flags = PERF_OFF_CPU};
  const __u32 thread = BPF_CORE_READ(task, pid);
  describe(&entry.key.process, task);
  add_thread(&entry.key, entry.thread, task);
  bpf_probe_read_kernel_str(entry.comm, PERF_COMM, &BPF_CORE_READ(task, group_leader)->comm);
  if (entry.key.process.image) entry.key.flags |= PERF_HAS_USER;
  bpf_map_update_elem(&waiting, &thread, &entry, BPF_ANY);
}

static __always_inline void add_wait(struct perf_held *wait, __u32 into) {
  if (wait->ns) add(&wait->key, wait->comm, wait->thread, wait->ns, into);
  if (!wait->queued_ns) return;
  struct perf_key key = wait->key;
  key.flags |= PERF_QUEUED;
  add(&key, wait->comm, wait->thread, wait->queued_ns, into);
}

/* in_task: the wait was followed by another one, so that the thread did not wait for its next task. */
static void release(__u32 thread, bool in_task, __u32 into) {
  struct perf_held *last = bpf_map_lookup_elem(&held, &thread);
  if (!last) return;
  struct perf_held wait = *last;
  bpf_map_delete_elem(&held, &thread);
  if (!in_task) wait.key.thread = wait.key.epoch = 0;
  add_wait(&wait, into);
}

/* The thread exits; its id may be reused. */
static void forget_wait(const struct task_struct *task) {
  const __u32 thread = BPF_CORE_READ(task, pid);
  bpf_map_delete_elem(&waiting, &thread);
}

static void end_wait(__u32 thread, __u64 now, __u32 into) {
  struct perf_waiting *entry = bpf_map_lookup_elem(&waiting, &thread);
  if (!entry) return;
  struct perf_held wait = {.key = entry->key};
  const __u64 woken = entry->woken_ns ? entry->woken_ns : now;
  const bool blocked = woken != entry->since_ns;
  if (woken - entry->since_ns >= min_wait_ns) wait.ns = woken - entry->since_ns;
  if (now - woken >= min_wait_ns) wait.queued_ns = now - woken;
  __builtin_memcpy(wait.comm, entry->comm, PERF_COMM);
  __builtin_memcpy(wait.thread, entry->thread, PERF_COMM);
  bpf_map_delete_elem(&waiting, &thread);
  if (wait.ns || wait.queued_ns) announce(&wait.key.process, wait.comm, SWITCH);
  if (!wait.key.thread || !blocked) return add_wait(&wait, into);
  release(thread, true, into);
  if (wait.ns || wait.queued_ns) bpf_map_update_elem(&held, &thread, &wait, BPF_ANY);
}

/* Whether waits for a CPU are measured. */
const volatile bool with_queue;

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *from, struct task_struct *to) {
  const __u64 begin = bpf_ktime_get_ns();
  const __u32 now = set & 1;
  if (from->exit_state != 0)
    forget_wait(from);
  else if (from->pid != 0 && !preempted && !is_runnable(from))
    begin_wait(ctx, from, begin);
  else if (from->pid != 0 && with_queue)
    begin_queue(from, begin);
  if (to->pid != 0) end_wait(to->pid, begin, now);
  __sync_fetch_and_add(&totals[now].cost_ns, bpf_ktime_get_ns() - begin);
  return 0;
}

/* The thread can run, and waits for a CPU from now on. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task) {
  const __u64 begin = bpf_ktime_get_ns();
  const __u32 thread = task->pid;
  struct perf_waiting *entry = bpf_map_lookup_elem(&waiting, &thread);
  if (entry && !entry->woken_ns) entry->woken_ns = begin;
  __sync_fetch_and_add(&totals[set & 1].cost_ns, bpf_ktime_get_ns() - begin);
  return 0;
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

/* A thread that gets the name of another task waited for it; a thread that gets no such name ended its task just now. */
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
  release(thread, false, set & 1);
  return 0;
}
