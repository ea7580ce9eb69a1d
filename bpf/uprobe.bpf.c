// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs of code regions: from where a thread enters a function to where it returns from it, or enters another one. Both ends are
 * paired here, by thread and region. Every run is counted; it is told by itself as far as there is room.
 *
 * A thread that is in a region may enter it again, by recursion: the outermost run counts, or time would be counted twice. It may
 * also leave it without passing its end (longjmp, an exception): whoever then enters it again does so at a place of the stack that
 * is not below that of the run which was left.
 */
#include "kernel.h"

#include <asm/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "uprobe.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Set before loading. */
const volatile __u32 regions = UPROBE_REGIONS;
const volatile __u8 bytes_of[UPROBE_REGIONS];
const volatile __u8 by_return[UPROBE_REGIONS]; /* it ends where the function returns */
const volatile __u8 by_name;                   /* counts are kept by the process's name, some of which are not wanted */
const volatile __u64 min_ns;                   /* shorter runs are not told */
const volatile __u64 max_told = 10000;         /* of a region, a second */
const volatile __u64 wake_at = 1;              /* bytes in the ring from which on its reader is woken */

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
  __u32 depth;   /* begins that still have to end */
  __u32 returns; /* that were to come on the thread at its begin */
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct place);
  __type(value, struct open_run);
} open SEC(".maps");

/* Threads that have been in a region: at the end of any other there is nothing to do. And how many returns are to come on each. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u32);
  __type(value, __u32);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct uprobe_who);
  __type(value, struct uprobe_counts);
} counts SEC(".maps");

/* Names of processes whose runs are not wanted, as user space has found them. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, char[UPROBE_COMM]);
  __type(value, __u8);
} unwanted SEC(".maps");

struct {
  __u64 second, told;
} pace[UPROBE_REGIONS];

static void name_process(char *comm, struct task_struct *task) {
  struct task_struct *leader = task->group_leader;
  BPF_CORE_READ_STR_INTO((char(*)[UPROBE_COMM])comm, leader, comm);
}

/* Those of the region without a name, which user space has put there: of whoever finds no room by name. */
static struct uprobe_counts *counts_of_rest(__u32 region) {
  const struct uprobe_who who = {.region = region};
  return bpf_map_lookup_elem(&counts, &who);
}

/* None: it is not wanted. User space takes the counts of such names away, so nothing may go on to use those, or to make them anew.
 */
static struct uprobe_counts *counts_of(__u32 region, struct task_struct *task) {
  if (by_name) {
    struct uprobe_who who = {.region = region};
    name_process(who.comm, task);
    if (bpf_map_lookup_elem(&unwanted, who.comm)) return NULL;
    struct uprobe_counts *named = bpf_map_lookup_elem(&counts, &who);
    if (named) return named;
    const struct uprobe_counts none = {};
    bpf_map_update_elem(&counts, &who, &none, BPF_NOEXIST);
    named = bpf_map_lookup_elem(&counts, &who);
    if (named) return named;
  }
  return counts_of_rest(region);
}

#define COUNT(region, task, what)                            \
  do {                                                       \
    struct uprobe_counts *counted = counts_of(region, task); \
    if (counted) __sync_fetch_and_add(&counted->what, 1);    \
  } while (0)

static bool is_wanted(struct task_struct *task) {
  if (!by_name) return true;
  char comm[UPROBE_COMM] = {};
  name_process(comm, task);
  return !bpf_map_lookup_elem(&unwanted, comm);
}

/* All are read: from one place that is worked out, the verifier takes none. */
static __s64 argument(struct pt_regs *ctx, __u8 number) {
  if (number == UPROBE_NO_BYTES || number >= UPROBE_BYTES_RETURNED) return -1;
  volatile __s64 all[] = {PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx), PT_REGS_PARM5(ctx)};
  return all[number - 1];
}

/* ---- Begins and ends ---- */

/* The kernel keeps no more returns of a thread (MAX_URETPROBE_DEPTH), and tells nobody which it leaves out. */
enum { MOST_RETURNS = 64 };

/* How many returns are to come on it. None: no room. Only a thread that is known here is looked at when it ends. */
static __u32 *note_thread(__u32 thread) {
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
  __u32 *returns = note_thread(place.thread);
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
    *returns = known->returns; /* none of what was left with it returns */
  }
  run.returns = *returns;
  const bool ends = expect_return(region, returns);
  run.begin_ns = bpf_ktime_get_ns();
  if (ends && bpf_map_update_elem(&open, &place, &run, BPF_ANY) == 0) return 0;
  COUNT(region, task, missed);
  if (known) bpf_map_delete_elem(&open, &place);
  return 0;
}

/* Threads on several processors may begin a second at once: then a few more are told. */
static bool has_pace(__u32 region, __u64 now) {
  const __u64 second = now / 1000000000;
  if (pace[region].second != second) {
    pace[region].second = second;
    pace[region].told = 0;
  }
  return __sync_fetch_and_add(&pace[region].told, 1) < max_told;
}

static bool tell(__u32 region, const struct open_run *run, __u64 now, struct task_struct *task) {
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

/* Whether those who have no room by name are wanted is not known: they are counted only. */
static bool may_tell(__u32 region, const struct uprobe_counts *counted, __u64 now) {
  if (by_name && counted == counts_of_rest(region)) return false;
  return has_pace(region, now);
}

static void end_run(const struct place *place, const struct open_run *run, __u64 now) {
  struct task_struct *task = bpf_get_current_task_btf();
  const __u32 region = place->region & (UPROBE_REGIONS - 1);
  struct uprobe_counts *counted = counts_of(region, task);
  if (counted) {
    const __u64 ns = now - run->begin_ns;
    if (ns < min_ns)
      __sync_fetch_and_add(&counted->brief, 1);
    else if (!may_tell(region, counted, now) || !tell(region, run, now, task))
      __sync_fetch_and_add(&counted->dropped, 1);
    /* Last: who reads the counts and then the ring has both. */
    __sync_fetch_and_add(&counted->time_ns, ns);
    __sync_fetch_and_add(&counted->runs, 1);
  }
  bpf_map_delete_elem(&open, place);
}

/* The stack pointer is behind the address that was returned to, where calls lay that on the stack. */
static bool ends_outermost(struct pt_regs *ctx, const struct open_run *run) {
#if defined(__TARGET_ARCH_x86)
  return PT_REGS_SP(ctx) > run->stack;
#else
  return PT_REGS_SP(ctx) >= run->stack;
#endif
}

/* A return without a begin was entered before we came, or by the parent, which has gone on; or its begin has been counted as
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
  if (!run || !ends_outermost(ctx, run)) return 0;
  if (returns) *returns = run->returns; /* right again, whatever was left without an end within it */
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

/* Whichever thread calls it, it goes on under the number of the first one. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(thread_execs, struct task_struct *task, int old_thread) {
  forget(old_thread, task);
  if (task->pid != old_thread) forget(task->pid, task);
  return 0;
}
