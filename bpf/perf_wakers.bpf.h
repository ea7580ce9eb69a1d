// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bursts: short intervals in which the time that each thread does not run is measured by waker. The programs are attached only
 * during bursts.
 *
 * Invariant: the waits of a thread and its CPU time add up to the length of the burst. A wait that began before the burst counts
 * from the burst's start; user space adds the waits that have not ended at the burst's end.
 */
#ifndef ATALAYA_BPF_PERF_WAKERS_H
#define ATALAYA_BPF_PERF_WAKERS_H

#include "perf_stacks.bpf.h"

struct perf_burst burst;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 32768);
  __type(key, __u32);
  __type(value, struct perf_blocked);
} blocked SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct perf_owner_key);
  __type(value, struct perf_owner_count);
} owners SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct perf_blocked);
} new_blocked SEC(".maps");

/* The last socket that received data on this CPU, and the last disk that finished a request on it. */
struct cause {
  __u64 socket_ns, disk_ns;
  struct perf_socket socket;
  char disk[PERF_DISK];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct cause);
} causes SEC(".maps");

/* Maximum frames of a waker's stack, which is read to find the function that woke the thread. Frames of interrupted code would make
 * each stack different.
 */
enum { WAKER_FRAMES = 24, WAKER_USER_FRAMES = 64 };

static struct perf_blocked *cleared_blocked(void) {
  const __u32 zero = 0;
  struct perf_blocked *entry = bpf_map_lookup_elem(&new_blocked, &zero);
  if (entry) __builtin_memset(entry, 0, sizeof(*entry));
  return entry;
}

static __always_inline void describe_waiting(struct perf_blocked *entry, const struct task_struct *task) {
  entry->key.wait.flags = PERF_OFF_CPU;
  init_key(&entry->key.wait, entry->names.thread, task);
  read_comm(entry->names.process, task);
}

static void add_owner(struct perf_blocked *entry, __u64 ns) {
  __sync_fetch_and_add(&burst.waits, 1);
  struct perf_owner_count *count = bpf_map_lookup_elem(&owners, &entry->key);
  if (!count) {
    struct perf_owner_count first = {.names = entry->names};
    bpf_map_update_elem(&owners, &entry->key, &first, BPF_NOEXIST);
    count = bpf_map_lookup_elem(&owners, &entry->key);
  }
  if (!count) {
    __sync_fetch_and_add(&burst.lost, 1);
    return;
  }
  __sync_fetch_and_add(&count->count, 1);
  __sync_fetch_and_add(&count->ns, ns);
}

/* Adds both parts of a wait: until the thread was woken, and from then until it ran. */
static void add_both(struct perf_blocked *entry, __u64 now) {
  if (entry->woken_ns > entry->since_ns) add_owner(entry, entry->woken_ns - entry->since_ns);
  if (now <= entry->woken_ns) return;
  entry->key.wait.flags |= PERF_QUEUED;
  __builtin_memset(&entry->key.waker, 0, sizeof(entry->key.waker));
  add_owner(entry, now - entry->woken_ns);
}

/* Adds the wait before a thread's first event in the burst: it was runnable since the burst's start or since its own creation. */
static void add_first(const struct task_struct *task, __u64 since, __u64 now) {
  struct perf_blocked *entry = burst.unknown ? 0 : cleared_blocked();
  if (!entry) return;
  const __u64 born = BPF_CORE_READ(task, start_time);
  describe_waiting(entry, task);
  drop_young(&entry->key.wait, now);
  entry->since_ns = entry->woken_ns = born > since ? born : since;
  add_both(entry, now);
}

static void end_blocked(const struct task_struct *task, __u64 since, __u64 now) {
  const __u32 thread = BPF_CORE_READ(task, pid);
  struct perf_blocked *entry = bpf_map_lookup_elem(&blocked, &thread);
  if (!entry) return add_first(task, since, now);
  if (!entry->woken_ns) entry->woken_ns = now;
  announce(&entry->key.wait.process, entry->names.process, SWITCH);
  drop_young(&entry->key.wait, now);
  add_both(entry, now);
  bpf_map_delete_elem(&blocked, &thread);
}

static void start_blocked(void *context, const struct task_struct *task, bool runnable, __u64 now) {
  const __u32 thread = BPF_CORE_READ(task, pid);
  struct perf_blocked *entry = cleared_blocked();
  if (!entry) return;
  entry->since_ns = now;
  describe_waiting(entry, task);
  if (runnable) {
    entry->woken_ns = now;
  } else {
    add_stacks(&entry->key.wait, context, SWITCH);
  }
  if (bpf_map_update_elem(&blocked, &thread, entry, BPF_ANY) != 0) __sync_fetch_and_add(&burst.unknown, 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_burst_switch, bool preempted, struct task_struct *from, struct task_struct *to) {
  const __u64 since = burst.since_ns, now = bpf_ktime_get_ns();
  if (!since || now < since) return 0;
  const __u32 thread = from->pid;
  if (from->exit_state != 0)
    bpf_map_delete_elem(&blocked, &thread);
  else if (thread != 0)
    start_blocked(ctx, from, preempted || is_runnable(from), now);
  if (to->pid != 0) end_blocked(to, since, now);
  __sync_fetch_and_add(&burst.cost_ns, bpf_ktime_get_ns() - now);
  return 0;
}

/* Adds the last event of this CPU as the cause of the wake-up. An interrupt may have replaced it, so user space checks it against
 * the waker's stack.
 */
static void add_cause(struct perf_waker *waker, __u64 now) {
  static const __u64 kWithin = 1000000;
  const __u32 zero = 0;
  const struct cause *cause = bpf_map_lookup_elem(&causes, &zero);
  if (!cause) return;
  if (now - cause->socket_ns < kWithin) waker->socket = cause->socket;
  if (now - cause->disk_ns < kWithin) __builtin_memcpy(waker->disk, cause->disk, PERF_DISK);
}

static void add_waker(struct perf_blocked *entry, void *context, __u64 now) {
  struct task_struct *current = bpf_get_current_task_btf();
  struct perf_waker *waker = &entry->key.waker;
  waker->thread = current->pid;
  waker->kernel = store_frames(context, 0, SWITCH, WAKER_FRAMES);
  add_cause(waker, now);
  if (!waker->thread) return;
  describe(&waker->process, current);
  waker->is_kernel_thread = (current->flags & PF_KTHREAD) != 0;
  bpf_probe_read_kernel_str(entry->names.waker_thread, PERF_COMM, &current->comm);
  read_comm(entry->names.waker_process, current);
  if (waker->process.image && waker->process.pid == entry->key.wait.process.pid)
    waker->user = store_frames(context, BPF_F_USER_STACK, SWITCH, WAKER_USER_FRAMES);
}

/* Starts the record of a thread that has waited since before the burst. Only the kernel part of its stack can be read from here. */
static void start_woken(struct task_struct *task, __u64 since) {
  const __u32 thread = task->pid, program = SWITCH;
  struct perf_blocked *entry = burst.unknown || task->on_cpu ? 0 : cleared_blocked();
  struct perf_stack *stack = bpf_map_lookup_elem(&scratch, &program);
  if (!entry || !stack) return;
  entry->since_ns = since;
  describe_waiting(entry, task);
  const long bytes = bpf_get_task_stack(task, stack->frames, sizeof(stack->frames), 0);
  if (bytes > 0) {
    stack->size = bytes / sizeof(__u64);
    entry->key.wait.kernel = hash_of(stack);
    keep(&switch_stacks, entry->key.wait.kernel, stack);
  }
  if (bpf_map_update_elem(&blocked, &thread, entry, BPF_ANY) != 0) __sync_fetch_and_add(&burst.unknown, 1);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_burst_waking, struct task_struct *task) {
  const __u64 since = burst.since_ns, now = bpf_ktime_get_ns();
  if (!since || now < since) return 0;
  const __u32 thread = task->pid;
  if (!bpf_map_lookup_elem(&blocked, &thread)) start_woken(task, since);
  struct perf_blocked *entry = bpf_map_lookup_elem(&blocked, &thread);
  if (entry && !entry->woken_ns) {
    entry->woken_ns = now;
    add_waker(entry, ctx, now);
  }
  __sync_fetch_and_add(&burst.cost_ns, bpf_ktime_get_ns() - now);
  return 0;
}

/* linux/socket.h */
enum { INET = 2, INET6 = 10 };

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_burst_data, const struct sock *sk) {
  const __u32 zero = 0;
  struct cause *cause = burst.since_ns ? bpf_map_lookup_elem(&causes, &zero) : 0;
  if (!cause) return 0;
  struct perf_socket socket = {};
  const __u16 family = sk->__sk_common.skc_family;
  socket.family = family == INET || family == INET6 ? family : 0;
  socket.is_server = (sk->sk_userlocks & 8 /* SOCK_BINDPORT_LOCK */) != 0;
  socket.port = socket.is_server ? sk->__sk_common.skc_num : __builtin_bswap16(sk->__sk_common.skc_dport);
  if (family == INET)
    __builtin_memcpy(socket.remote, &sk->__sk_common.skc_daddr, 4);
  else if (family == INET6)
    BPF_CORE_READ_INTO(&socket.remote, sk, __sk_common.skc_v6_daddr);
  cause->socket = socket;
  cause->socket_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_burst_disk, struct request *request) {
  const __u32 zero = 0;
  struct cause *cause = burst.since_ns ? bpf_map_lookup_elem(&causes, &zero) : 0;
  if (!cause) return 0;
  const struct gendisk *disk = 0;
  if (bpf_core_field_exists(request->q->disk))
    disk = BPF_CORE_READ(request, q, disk);
  else
    disk = BPF_CORE_READ((const struct request___before_5_16 *)request, rq_disk);
  __builtin_memset(cause->disk, 0, PERF_DISK);
  if (disk) bpf_probe_read_kernel_str(cause->disk, PERF_DISK, &disk->disk_name);
  cause->disk_ns = bpf_ktime_get_ns();
  return 0;
}

#endif
