// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counts stacks at each tick of a perf event, and the time that threads waited in them.
 *
 * A stack is stored once, under the 64-bit hash of its frames: the kernel's own stack map uses a 32-bit hash and drops collisions.
 * Counts are in two maps; user space switches `set` to the other one and then reads the first.
 */
#include <linux/bpf_perf_event.h>

#include "perf_copies.bpf.h"
#include "perf_regions.bpf.h"
#include "perf_stacks.bpf.h"
#include "perf_tasks.bpf.h"
#include "perf_wakers.bpf.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Minimum wait to report. */
__u64 min_wait_ns;

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, struct perf_waiting);
} waiting SEC(".maps");

/* ---- On-CPU ---- */

/* The stack of a known count is stored: then it is only marked as used now and again, so that its LRU map keeps it. */
static __always_inline bool is_due(const struct perf_count *count) {
  return !count || count->count < 2 || count->count % 8 == 0;
}

static __always_inline void count_tick(struct perf_key *key, void *context, const struct task_struct *task, const char *thread,
                                       __u32 now) {
  struct perf_stack *stack = key->process.image ? read_frames(context, BPF_F_USER_STACK, TICK, PERF_FRAMES) : 0;
  if (stack) key->user = hash_of(stack);
  struct perf_count *count = count_of(key, now);
  if (is_due(count)) {
    char comm[PERF_COMM] = {};
    read_comm(comm, task);
    if (stack) keep(&tick_stacks, key->user, stack);
    announce(&key->process, comm, TICK);
    if (!count) count = first_count(key, comm, thread, now);
  }
  add_to(count, 0, now);
}

#if defined(__TARGET_ARCH_x86)
#define IS_USER_MODE(registers) (((registers)->cs & 3) != 0)
#else
#define IS_USER_MODE(registers) (((registers)->pstate & 15) == 0)
#endif

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *context) {
  const __u64 begin = bpf_ktime_get_ns();
  const __u32 now = set & 1;
  const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
  if (BPF_CORE_READ(task, pid) == 0) return 0; /* idle */
  struct perf_key key = {};
  char thread[PERF_COMM] = {};
  init_key(&key, thread, task);
  if (!IS_USER_MODE(&context->regs)) key.kernel = store_stack(context, 0, TICK);
  drop_young(&key, begin);
  if (!is_copied(&key.process) || !copy_tick(&key, task, thread, now)) count_tick(&key, context, task, thread, now);
  __sync_fetch_and_add(&totals[now].cost_ns, bpf_ktime_get_ns() - begin);
  return 0;
}

/* ---- Off-CPU ---- */

/* The thread starts to wait. */
static void start_wait(void *context, const struct task_struct *task, __u64 now) {
  struct perf_waiting entry = {.since_ns = now, .key.flags = PERF_OFF_CPU};
  const __u32 thread = BPF_CORE_READ(task, pid);
  init_key(&entry.key, entry.thread, task);
  read_comm(entry.comm, task);
  add_stacks(&entry.key, context, SWITCH);
  bpf_map_update_elem(&waiting, &thread, &entry, BPF_ANY);
}

/* The thread leaves its CPU although it could run. Its stack is not read: it waits for a CPU, not for its own code. */
static void begin_queue(const struct task_struct *task, __u64 now) {
  struct perf_waiting entry = {.since_ns = now, .woken_ns = now, .key.flags = PERF_OFF_CPU};
  const __u32 thread = BPF_CORE_READ(task, pid);
  init_key(&entry.key, entry.thread, task);
  read_comm(entry.comm, task);
  bpf_map_update_elem(&waiting, &thread, &entry, BPF_ANY);
}

/* The thread exits; its id may be reused. */
static void forget_wait(const struct task_struct *task) {
  const __u32 thread = BPF_CORE_READ(task, pid);
  bpf_map_delete_elem(&waiting, &thread);
}

static void end_wait(__u32 thread, __u64 now, __u32 into) {
  struct perf_waiting *entry = bpf_map_lookup_elem(&waiting, &thread);
  if (!entry) return;
  struct perf_pending_wait wait = {.key = entry->key};
  const __u64 woken = entry->woken_ns ? entry->woken_ns : now;
  const bool blocked = woken != entry->since_ns;
  if (woken - entry->since_ns >= min_wait_ns) wait.ns = woken - entry->since_ns;
  if (now - woken >= min_wait_ns) wait.queued_ns = now - woken;
  __builtin_memcpy(wait.comm, entry->comm, PERF_COMM);
  __builtin_memcpy(wait.thread, entry->thread, PERF_COMM);
  bpf_map_delete_elem(&waiting, &thread);
  if (wait.ns || wait.queued_ns) announce(&wait.key.process, wait.comm, SWITCH);
  drop_young(&wait.key, now);
  if (!wait.key.thread || !blocked || is_in_region(&wait.key)) return add_wait(&wait, into);
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
    start_wait(ctx, from, begin);
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
