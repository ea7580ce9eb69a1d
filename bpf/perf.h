/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records and map entries that perf.bpf.c shares with the source "perf": fixed-width fields with the same layout on both sides. */
#ifndef ATALAYA_BPF_PERF_H
#define ATALAYA_BPF_PERF_H

#include <linux/types.h>

enum {
  PERF_COMM = 16,
  PERF_FRAMES = 127, /* maximum frames per stack: the kernel's default limit (kernel.perf_event_max_stack) */
};

/* Bits of perf_key.flags. */
enum {
  PERF_HAS_USER = 1, /* a user process, not a kernel thread */
  PERF_OFF_CPU = 2,  /* the thread waited in this stack */
  PERF_QUEUED = 4,   /* also PERF_OFF_CPU: the thread waited for a CPU */
  PERF_UNENDED = 8,  /* also PERF_OFF_CPU: the wait was not over when the burst ended; set by user space */
};

/* The bits of perf_key.flags from PERF_REGION_SHIFT up contain 1 + the index of the code region that the thread was in; 0: none. */
enum { PERF_REGION_SHIFT = 8, PERF_REGIONS = 64 };

/* Maximum prefixes. A thread may run tasks if its name starts with one of the prefixes; an empty prefix matches all names. */
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

/* Key of the counts: one kernel stack and one user stack of one process. */
struct perf_key {
  struct perf_process process;
  __u64 kernel, user; /* hashes of the stacks; 0: none */
  __u32 flags;
  __u32 thread; /* id of the thread if it may run tasks, else 0 */
  __u64 epoch;  /* CLOCK_MONOTONIC time at which the thread got its name or entered its region; 0: before the first window */
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

/* A run of a region that is a task has ended. */
struct perf_run {
  struct perf_process process;
  __u64 begin_ns, end_ns; /* CLOCK_MONOTONIC; begin_ns equals perf_key.epoch of the stacks of this run */
  __u32 thread, region;
  char comm[PERF_COMM]; /* of the process */
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
  __u64 woken_ns; /* time at which the thread became runnable; 0: unknown */
  struct perf_key key;
  char comm[PERF_COMM];
  char thread[PERF_COMM];
};

/* The last wait of a thread that may run tasks. It is counted when the next wait ends. If the thread is renamed before that, the
 * wait was between two tasks, not inside one.
 */
struct perf_pending_wait {
  __u64 ns;
  __u64 queued_ns;
  struct perf_key key;
  char comm[PERF_COMM];
  char thread[PERF_COMM];
};

/* Selects the processes whose stacks are copied to user space: none, those in the map `listed`, those not in it, or all. */
enum { PERF_COPY_NONE, PERF_COPY_LISTED, PERF_COPY_UNLISTED, PERF_COPY_ALL };

/* A copy of a thread's stack, for programs built without frame pointers. */
enum {
  PERF_COPY_PART = 512, /* a page holds whole parts, and the stack whole pages */
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
  __u32 region; /* 1 + its number, 0: none */
  __u32 unused;
  __u64 registers[PERF_REGISTERS];
  __u64 begin, size;                            /* of the copy */
  __u8 bytes[PERF_COPY_PART * PERF_COPY_PARTS]; /* a record of the ring has the first ones, `size` of them or more */
};

/* ---- Wakers ---- */

/* The event that the kernel handled on this CPU just before it woke a thread: data for a socket, or a finished disk request. */
struct perf_socket {
  __u8 remote[16]; /* IPv4 in the first bytes */
  __u16 port;      /* of the server */
  __u8 family;     /* AF_INET or AF_INET6; 0: none */
  __u8 is_server;  /* the thread's end */
  __u32 unused;
};
enum { PERF_DISK = 16 };

/* The waker of a thread: the reason that its wait ended. */
struct perf_waker {
  struct perf_process process;
  __u32 thread; /* that ran when the wait ended, perhaps interrupted; 0: none, or idle */
  __u32 is_kernel_thread;
  __u64 kernel, user; /* hashes of its stack; user: only within the process of the thread that waited */
  struct perf_socket socket;
  char disk[PERF_DISK];
};

struct perf_owner_key {
  struct perf_key wait;
  struct perf_waker waker;
};

struct perf_owner_names {
  char process[PERF_COMM], thread[PERF_COMM];
  char waker_process[PERF_COMM], waker_thread[PERF_COMM];
};

struct perf_owner_count {
  __u64 count, ns;
  struct perf_owner_names names;
};

/* A thread that does not run during a burst. */
struct perf_blocked {
  __u64 since_ns;
  __u64 woken_ns; /* it waits for a CPU since then; 0: it still waits for something else */
  struct perf_owner_key key;
  struct perf_owner_names names;
};

struct perf_burst {
  __u64 since_ns; /* CLOCK_MONOTONIC; 0: no burst */
  __u64 waits;
  __u64 lost;    /* waits that were not counted because a map was full */
  __u64 unknown; /* switches of threads without place in the map of blocked threads */
  __u64 cost_ns;
};

#endif
