/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Types that perf.bpf.c shares with the source "perf": plain and fixed-width. */
#ifndef ATALAYA_BPF_PERF_H
#define ATALAYA_BPF_PERF_H

#include <linux/types.h>

enum {
  PERF_COMM = 16,
  PERF_FRAMES = 127, /* of a stack; the kernel's own default limit (kernel.perf_event_max_stack) */
};

/* Bits of perf_key.flags. */
enum {
  PERF_HAS_USER = 1, /* a user process, not a kernel thread */
  PERF_OFF_CPU = 2,  /* the thread waited in this stack */
  PERF_QUEUED = 4,   /* also PERF_OFF_CPU: the thread waited for a CPU */
};

/* Names of threads that may run tasks begin with one of these; an empty one stands for all names. */
enum { PERF_PREFIXES = 8 };
struct perf_prefix {
  __u32 size;
  char text[PERF_COMM];
};

/* Identifies a program: a reused pid has another start time, and exec changes the image. */
struct perf_process {
  __u64 start_ns; /* since boot, suspend included */
  __u64 image;    /* equal to symbols::image_mark; 0: a kernel thread */
  __u32 pid;
  __u32 unused;
};

/* One stack of one process. */
struct perf_key {
  struct perf_process process;
  __u64 kernel, user; /* hashes of the stacks; 0: none */
  __u32 flags;
  __u32 thread; /* that may run a task, else 0 */
  __u64 epoch;  /* time at which it got its name, CLOCK_MONOTONIC; 0: before the first window */
};

struct perf_count {
  __u64 count;
  __u64 ns; /* off-CPU: blocked time */
  char comm[PERF_COMM];
  char thread[PERF_COMM]; /* name of the thread */
};

/* A thread that may run tasks got a name, perhaps the same one again. */
struct perf_renamed {
  struct perf_process process;
  __u64 epoch; /* as in perf_key */
  __u32 thread;
  __u32 unused;
  char name[PERF_COMM];
};

struct perf_stack {
  __u64 size; /* frames, leaf first */
  __u64 frames[PERF_FRAMES];
};

/* A process seen for the first or second time. */
struct perf_seen {
  struct perf_process process;
  __u32 again;
  __u32 unused;
  char comm[PERF_COMM];
};

struct perf_totals {
  __u64 samples;
  __u64 lost;       /* samples dropped because a map was full */
  __u64 not_copied; /* stacks not copied because the ring was full; frame pointers were used */
  __u64 cost_ns;    /* CPU time of the BPF program */
};

/* A thread that waits. */
struct perf_waiting {
  __u64 since_ns;
  __u64 woken_ns; /* it waits for a CPU since then; 0: unknown */
  struct perf_key key;
  char comm[PERF_COMM];
  char thread[PERF_COMM];
};

/* The last wait of a thread that may run tasks: counted when the next one ends. If the thread gets another name first, it waited
 * for a task, not in one.
 */
struct perf_held {
  __u64 ns;
  __u64 queued_ns;
  struct perf_key key;
  char comm[PERF_COMM];
  char thread[PERF_COMM];
};

/* Processes whose stacks are copied to user space: none, those in the map `listed`, all others, or all. */
enum { PERF_COPY_NONE, PERF_COPY_LISTED, PERF_COPY_UNLISTED, PERF_COPY_ALL };

/* A copy of a thread's stack, for programs built without frame pointers. */
enum {
  PERF_COPY_PART = 512, /* read at once: a page holds whole parts, and the stack whole pages */
  PERF_COPY_PARTS = 128,
  PERF_REGISTERS = 33, /* by DWARF's numbers: 17 on x86-64, 33 on arm64 */
};

struct perf_copy {
  struct perf_process process;
  char comm[PERF_COMM];
  char thread_name[PERF_COMM];
  __u64 kernel; /* hash of the kernel's part of the stack */
  __u64 epoch;  /* as in perf_key */
  __u32 thread; /* as in perf_key */
  __u32 set;    /* index of the set that counted it */
  __u64 registers[PERF_REGISTERS];
  __u64 begin, size; /* of the copy */
  __u8 bytes[PERF_COPY_PART * PERF_COPY_PARTS];
};

#endif
