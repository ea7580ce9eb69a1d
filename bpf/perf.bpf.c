// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counts stacks at each tick of a perf event, and the time that threads waited in them.
 *
 * A stack is stored once, under the 64-bit hash of its frames: the kernel's own stack map uses a 32-bit hash and drops collisions.
 * Counts are in two maps; user space switches `set` to the other one and then reads the first.
 */
#include "perf_regions.bpf.h"
#include "perf_stacks.bpf.h"
#include "perf_tasks.bpf.h"
#include "perf_wakers.bpf.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* PERF_COPY_* */
const volatile __u32 copies;

/* Bytes in the ring of copies that wake its reader. */
const volatile __u32 wake_above;

/* Minimum wait to report. */
__u64 min_wait_ns;

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

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);
} stack_copies SEC(".maps");

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
  copy->region = key->flags >> PERF_REGION_SHIFT;
  copy->unused = 0;
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
  /* The reader polls twice a second; wake it early only when the ring fills. */
  const bool much = bpf_ringbuf_query(&stack_copies, BPF_RB_AVAIL_DATA) > wake_above;
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
  drop_young(&key, begin);
  if (copies == PERF_COPY_NONE || !try_copy(&key, comm, thread, now)) {
    add_user(&key, context, TICK);
    add(&key, comm, thread, 0, now);
  }
  announce(&key.process, comm, TICK);
  __sync_fetch_and_add(&totals[now].cost_ns, bpf_ktime_get_ns() - begin);
  return 0;
}

/* ---- Off-CPU ---- */

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
