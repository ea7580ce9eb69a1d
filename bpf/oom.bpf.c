// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Victims of the OOM killer, with their memory and their cgroup, which the kernel's log does not always have. */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "oom.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Indices of rss_stat, include/linux/mm_types_task.h. */
enum { MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES };

/* Marks without room in the ring. */
__u64 lost_marks;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 16);
} marks SEC(".maps");

static __u64 at_least_0(__s64 pages) {
  return pages > 0 ? pages : 0;
}

/* As the kernel's log has it: without the parts of the counters that are still with a CPU. */
static __u64 resident_pages(struct mm_struct *mm) {
  if (!mm) return 0;
  struct mm_struct___before_6_2 *old = (void *)mm;
  if (bpf_core_field_exists(old->rss_stat.count))
    return at_least_0(BPF_CORE_READ(old, rss_stat.count[MM_FILEPAGES].counter)) +
           at_least_0(BPF_CORE_READ(old, rss_stat.count[MM_ANONPAGES].counter)) +
           at_least_0(BPF_CORE_READ(old, rss_stat.count[MM_SHMEMPAGES].counter));
  return at_least_0(BPF_CORE_READ(mm, rss_stat[MM_FILEPAGES].count)) + at_least_0(BPF_CORE_READ(mm, rss_stat[MM_ANONPAGES].count)) +
         at_least_0(BPF_CORE_READ(mm, rss_stat[MM_SHMEMPAGES].count));
}

static __u64 memory_cgroup(struct task_struct *task) {
  if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id)) return 0;
  const __u32 index = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
  struct css_set *set = BPF_CORE_READ(task, cgroups);
  struct cgroup_subsys_state *state = NULL;
  bpf_probe_read_kernel(&state, sizeof(state), (void *)set + bpf_core_field_offset(struct css_set, subsys) + index * sizeof(void *));
  return state ? BPF_CORE_READ(state, cgroup, kn, id) : 0;
}

/* The argument is the process since 6.9, and its number before. A number is no address of the kernel. */
SEC("raw_tp/mark_victim")
int victim_is_marked(struct bpf_raw_tracepoint_args *ctx) {
  const __u64 argument = ctx->args[0];
  struct oom_mark *mark = bpf_ringbuf_reserve(&marks, sizeof(*mark), 0);
  if (!mark) {
    __sync_fetch_and_add(&lost_marks, 1);
    return 0;
  }
  __builtin_memset(mark, 0, sizeof(*mark));
  mark->time_ns = bpf_ktime_get_ns();
  if (argument >> 32 == 0) {
    mark->pid = argument;
  } else {
    struct task_struct *task = (struct task_struct *)argument;
    mark->pid = BPF_CORE_READ(task, tgid);
    mark->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
    mark->cgroup = memory_cgroup(task);
    mark->pages = resident_pages(BPF_CORE_READ(task, mm));
    BPF_CORE_READ_INTO(&mark->comm, task, group_leader, comm);
  }
  bpf_ringbuf_submit(mark, BPF_RB_NO_WAKEUP);
  return 0;
}
