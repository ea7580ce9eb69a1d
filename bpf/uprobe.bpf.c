// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs of code regions: from the entry of a function to its return, or to the entry of another function. Begin and end are paired
 * here, by thread and region. Every run is counted; each is also reported as a record while the limits allow.
 *
 * A thread may enter a region again by recursion: only the outermost run counts, so that time is not counted twice. It may
 * also leave the region without its end (longjmp, an exception): the next entry then has a stack pointer that is
 * not below that of the abandoned run.
 */
#include "kernel.h"

#include <asm/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "returns.h"
#include "uprobe.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Set before loading. */
const volatile __u32 regions = UPROBE_REGIONS;
const volatile __u8 bytes_of[UPROBE_REGIONS];
const volatile __u8 by_return[UPROBE_REGIONS]; /* it ends where the function returns */
const volatile __u8 by_name;                   /* counts are per process name, because of a filter */
const volatile __u64 min_ns;                   /* shorter runs are not reported */
const volatile __u64 max_events = 10000;       /* per region and second */
const volatile __u64 wake_at = 1;              /* bytes in the ring that wake its reader */

/* Entries of the ring for runs. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} ended SEC(".maps");

struct place {
  __u32 thread, region;
};

struct open_run {
  __u64 begin_ns;
  __u64 stack; /* the pointer, at its begin */
  __s64 bytes;
  __u32 depth;   /* begins without an end yet */
  __u32 returns; /* pending on the thread at its begin */
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct place);
  __type(value, struct open_run);
} open SEC(".maps");

/* Threads that entered a region, each with its number of pending returns. The exit of other threads needs no work. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u32);
  __type(value, __u32);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct uprobe_key);
  __type(value, struct uprobe_counts);
} counts SEC(".maps");

/* Names of processes that the filter excludes, set by user space. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, char[UPROBE_COMM]);
  __type(value, __u8);
} unwanted SEC(".maps");

struct {
  __u64 second, reported;
} rate[UPROBE_REGIONS];

static void name_process(char *comm, struct task_struct *task) {
  struct task_struct *leader = task->group_leader;
  BPF_CORE_READ_STR_INTO((char(*)[UPROBE_COMM])comm, leader, comm);
}

/* The region's entry without a name, created by user space: used when the map has no room for a name. */
static struct uprobe_counts *counts_of_rest(__u32 region) {
  const struct uprobe_key key = {.region = region};
  return bpf_map_lookup_elem(&counts, &key);
}

/* None: excluded by the filter. User space deletes the counts of such names, so they must not be used or created again. */
static struct uprobe_counts *counts_of(__u32 region, struct task_struct *task) {
  if (by_name) {
    struct uprobe_key key = {.region = region};
    name_process(key.comm, task);
    if (bpf_map_lookup_elem(&unwanted, key.comm)) return NULL;
    struct uprobe_counts *named = bpf_map_lookup_elem(&counts, &key);
    if (named) return named;
    const struct uprobe_counts none = {};
    bpf_map_update_elem(&counts, &key, &none, BPF_NOEXIST);
    named = bpf_map_lookup_elem(&counts, &key);
    if (named) return named;
  }
  return counts_of_rest(region);
}

#define COUNT(region, task, member)                          \
  do {                                                       \
    struct uprobe_counts *counted = counts_of(region, task); \
    if (counted) __sync_fetch_and_add(&counted->member, 1);  \
  } while (0)

static bool is_wanted(struct task_struct *task) {
  if (!by_name) return true;
  char comm[UPROBE_COMM] = {};
  name_process(comm, task);
  return !bpf_map_lookup_elem(&unwanted, comm);
}

/* Reads all arguments: the verifier rejects access at a computed offset. */
static __s64 argument(struct pt_regs *ctx, __u8 number) {
  if (number == UPROBE_NO_BYTES || number >= UPROBE_BYTES_RETURNED) return -1;
  volatile __s64 all[] = {PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx)};
  return all[number - 1];
}

/* ---- Begins and ends ---- */

/* The kernel's maximum pending returns per thread (MAX_URETPROBE_DEPTH); it does not report those that it skips. */
enum { MOST_RETURNS = 64 };

/* The thread's number of pending returns; none: the map is full. Registers the thread for cleanup at its exit. */
static __u32 *add_thread(__u32 thread) {
  __u32 *known = bpf_map_lookup_elem(&threads, &thread);
  if (known) return known;
  const __u32 none = 0;
  bpf_map_update_elem(&threads, &thread, &none, BPF_NOEXIST);
  return bpf_map_lookup_elem(&threads, &thread);
}

/* False: its return will not come. */
static bool expect_return(__u64 region, __u32 *returns) {
  if (!by_return[region & (UPROBE_REGIONS - 1)]) return true;
  if (*returns >= MOST_RETURNS) return false;
  ++*returns;
  return true;
}

SEC("uprobe")
int enters(struct pt_regs *ctx) {
  const __u64 region = bpf_get_attach_cookie(ctx);
  if (region >= UPROBE_REGIONS) return 0;
  struct task_struct *task = bpf_get_current_task_btf();
  if (!is_wanted(task)) return 0;
  const struct place place = {(__u32)bpf_get_current_pid_tgid(), region};
  struct open_run run = {.stack = PT_REGS_SP(ctx), .bytes = argument(ctx, bytes_of[region]), .depth = 1};
  __u32 *returns = add_thread(place.thread);
  if (!returns) {
    COUNT(region, task, missed);
    return 0;
  }
  struct open_run *known = bpf_map_lookup_elem(&open, &place);
  if (known && run.stack < known->stack) {
    ++known->depth;
    expect_return(region, returns);
    COUNT(region, task, nested);
    return 0;
  }
  if (known) {
    COUNT(region, task, orphans);
    *returns = known->returns; /* nothing inside the abandoned run will return */
  }
  run.returns = *returns;
  const bool ends = expect_return(region, returns);
  run.begin_ns = bpf_ktime_get_ns();
  if (ends && bpf_map_update_elem(&open, &place, &run, BPF_ANY) == 0) return 0;
  COUNT(region, task, missed);
  if (known) bpf_map_delete_elem(&open, &place);
  return 0;
}

/* Several CPUs may start a new second at once: then a few more are reported. */
static bool below_limit(__u32 region, __u64 now) {
  const __u64 second = now / 1000000000;
  if (rate[region].second != second) {
    rate[region].second = second;
    rate[region].reported = 0;
  }
  return __sync_fetch_and_add(&rate[region].reported, 1) < max_events;
}

static bool report_run(__u32 region, const struct open_run *run, __u64 now, struct task_struct *task) {
  struct uprobe_run *record = bpf_ringbuf_reserve(&ended, sizeof(*record), 0);
  if (!record) return false;
  record->begin_ns = run->begin_ns;
  record->end_ns = now;
  record->bytes = run->bytes;
  record->region = region;
  record->pid = task->tgid;
  __builtin_memset(record->comm, 0, sizeof(record->comm));
  name_process(record->comm, task);
  const bool much = bpf_ringbuf_query(&ended, BPF_RB_AVAIL_DATA) >= wake_at;
  bpf_ringbuf_submit(record, much ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
  return true;
}

/* For runs without an entry by name the filter result is unknown: they are only counted. */
static bool may_report(__u32 region, const struct uprobe_counts *counted, __u64 now) {
  if (by_name && counted == counts_of_rest(region)) return false;
  return below_limit(region, now);
}

static void end_run(const struct place *place, const struct open_run *run, __u64 now) {
  struct task_struct *task = bpf_get_current_task_btf();
  const __u32 region = place->region & (UPROBE_REGIONS - 1);
  struct uprobe_counts *counted = counts_of(region, task);
  if (counted) {
    const __u64 ns = now - run->begin_ns;
    if (ns < min_ns)
      __sync_fetch_and_add(&counted->brief, 1);
    else if (!may_report(region, counted, now) || !report_run(region, run, now, task))
      __sync_fetch_and_add(&counted->dropped, 1);
    /* Last, so that a reader of the counts and then of the ring has both. */
    __sync_fetch_and_add(&counted->time_ns, ns);
    __sync_fetch_and_add(&counted->runs, 1);
  }
  bpf_map_delete_elem(&open, place);
}

/* A return without a begin: the entry happened before the probe was attached, or in the parent before a fork, or was counted as
 * missed. */
SEC("uretprobe")
int returns(struct pt_regs *ctx) {
  const __u64 now = bpf_ktime_get_ns();
  const __u64 region = bpf_get_attach_cookie(ctx);
  if (region >= UPROBE_REGIONS) return 0;
  const struct place place = {(__u32)bpf_get_current_pid_tgid(), region};
  __u32 *returns = bpf_map_lookup_elem(&threads, &place.thread);
  if (returns && *returns > 0) --*returns;
  struct open_run *run = bpf_map_lookup_elem(&open, &place);
  if (!run || !returns_from(ctx, run->stack)) return 0;
  if (returns) *returns = run->returns; /* also drops runs inside it that had no end */
  if (bytes_of[region] == UPROBE_BYTES_RETURNED) run->bytes = PT_REGS_RC(ctx);
  end_run(&place, run, now);
  return 0;
}

SEC("uprobe")
int leaves(struct pt_regs *ctx) {
  const __u64 now = bpf_ktime_get_ns();
  const __u64 region = bpf_get_attach_cookie(ctx);
  if (region >= UPROBE_REGIONS) return 0;
  struct task_struct *task = bpf_get_current_task_btf();
  const struct place place = {(__u32)bpf_get_current_pid_tgid(), region};
  struct open_run *run = bpf_map_lookup_elem(&open, &place);
  if (!run) {
    if (is_wanted(task)) COUNT(region, task, orphans);
    return 0;
  }
  if (--run->depth == 0) end_run(&place, run, now);
  return 0;
}

/* ---- Threads that end within a region, or become another program ---- */

static void forget(__u32 thread, struct task_struct *task) {
  if (!bpf_map_lookup_elem(&threads, &thread)) return;
  struct place place = {.thread = thread};
  for (__u32 region = 0; region < UPROBE_REGIONS; ++region) {
    if (region >= regions) break;
    place.region = region;
    if (bpf_map_delete_elem(&open, &place) == 0) COUNT(region, task, orphans);
  }
  bpf_map_delete_elem(&threads, &thread);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_exits, struct task_struct *task) {
  forget(task->pid, task);
  return 0;
}

/* After exec, the calling thread continues under the thread group leader's id. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(thread_execs, struct task_struct *task, int old_thread) {
  forget(old_thread, task);
  if (task->pid != old_thread) forget(task->pid, task);
  return 0;
}
