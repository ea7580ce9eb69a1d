/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What uprobe.bpf.c tells the source "uprobe": plain fixed-width types, the same on both sides. */
#ifndef ATALAYA_BPF_UPROBE_H
#define ATALAYA_BPF_UPROBE_H

#include <linux/types.h>

enum {
  UPROBE_COMM = 16,
  UPROBE_REGIONS = 64,

  /* Where a run's bytes are: in no place, in the first to fifth argument of the function that it begins with, or in what it
     returns. */
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

/* Whose runs are counted together: those of a region, and of the processes of a name where names are asked for. */
struct uprobe_who {
  __u32 region, unused;
  char comm[UPROBE_COMM];
};

/* Since the start. runs = those told + brief + dropped. */
struct uprobe_counts {
  __u64 runs, time_ns; /* that have ended */
  __u64 brief;         /* of these, shorter than is told */
  __u64 dropped;       /* of these, more than may be told, or without room */
  __u64 nested;        /* begins within a run of the same region on the same thread */
  __u64 orphans;       /* begins without an end, ends without a begin */
  __u64 missed;        /* begins of which nothing is known, for want of room */
};

#endif
