/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the cgroup of a process in a BPF program. The includer also includes kernel.h and bpf_core_read.h. */
#ifndef ATALAYA_BPF_CGROUP_H
#define ATALAYA_BPF_CGROUP_H

/* Set in ids of cgroup version 1, so that they differ from ids of version 2 (kCgroupV1 of plugins/shared/host/cgroup). */
#define CGROUP_V1 (1ULL << 63)

/* Returns the id of the task's cgroup of version 2 or, if version 2 is unused, of the cpu controller of version 1. */
static __u64 cgroup_of(struct task_struct *task) {
  struct css_set *set = task->cgroups;
  struct cgroup *cgroup = set->dfl_cgrp;
  if (BPF_CORE_READ(cgroup, level) == 0 && bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id)) {
    const __u32 index = bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
    struct cgroup_subsys_state *state = NULL;
    bpf_probe_read_kernel(&state, sizeof(state),
                          (void *)set + bpf_core_field_offset(struct css_set, subsys) + index * sizeof(void *));
    if (state) return BPF_CORE_READ(state, cgroup, kn, id) | CGROUP_V1;
  }
  return BPF_CORE_READ(cgroup, kn, id);
}

#endif
