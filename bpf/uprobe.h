/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records and map entries that uprobe.bpf.c shares with the source "uprobe": fixed-width fields with the same layout on both sides.
 */
#ifndef ATALAYA_BPF_UPROBE_H
#define ATALAYA_BPF_UPROBE_H

#include <linux/types.h>

enum {
  UPROBE_COMM = 16,
  UPROBE_REGIONS = 64,

  /* Source of the byte count of a run: none, an argument (first to fifth) of its first function, or the function's result. */
  UPROBE_NO_BYTES = 0,
  UPROBE_BYTES_RETURNED = 6,
};

/* A run of a region that has ended. */
struct uprobe_run {
  __u64 begin_ns, end_ns; /* CLOCK_MONOTONIC */
  __s64 bytes;            /* less than 0: unknown */
  __u32 region, pid;
  char comm[UPROBE_COMM]; /* of the process */
};

/* Key of the counts: a region and, with a filter by name, a process name. */
struct uprobe_key {
  __u32 region, unused;
  char comm[UPROBE_COMM];
};

/* Numbers of runs since the start. runs = reported + brief + dropped. */
struct uprobe_counts {
  __u64 runs, time_ns; /* of ended runs */
  __u64 brief;         /* of these, shorter than the minimum */
  __u64 dropped;       /* of these, beyond the limit per second, or the ring was full */
  __u64 nested;        /* begins within a run of the same region on the same thread */
  __u64 orphans;       /* begins without an end, ends without a begin */
  __u64 missed;        /* begins not recorded because a map was full */
};

#endif
