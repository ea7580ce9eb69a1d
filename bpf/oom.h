/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The record that oom.bpf.c sends to the source "kernel": fixed-width fields with the same layout on both sides. */
#ifndef ATALAYA_BPF_OOM_H
#define ATALAYA_BPF_OOM_H

#include <linux/types.h>

enum { OOM_COMM = 16 };

/* A process that the OOM killer has chosen. */
struct oom_mark {
  __u64 time_ns;  /* CLOCK_MONOTONIC */
  __u64 start_ns; /* of the process, since boot; 0: unknown */
  __u64 cgroup;   /* id of the cgroup that its memory is charged to; 0: unknown */
  __u64 pages;    /* resident memory; 0: unknown */
  __s32 pid;
  __u32 reserved;
  char comm[OOM_COMM]; /* empty: unknown */
};

#endif
