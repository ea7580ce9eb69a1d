/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records that proc.bpf.c sends to the source "proc": fixed-width types with the same layout on both sides. */
#ifndef ATALAYA_BPF_PROC_H
#define ATALAYA_BPF_PROC_H

#include <linux/types.h>

enum {
  PROC_IDLE = 1, /* the process has not run since its last record: only a proc_head */
  PROC_FULL = 2, /* a proc_record */

  PROC_COMM = 16,
  PROC_SEEN = 1 << 16,     /* slots of the table of last reports, by pid */
  PROC_THREADED = 1 << 15, /* live processes with ended threads */
  PROC_TURNS = 16,         /* turns after which an idle process is read in full again */
  PROC_MAX_THREADS = 1024, /* counted without bpf_loop (before 5.17) */
  PROC_MAX_FILES = 64,     /* words of 64 descriptors that are counted */
  PROC_MAX_CPUS = 64,      /* maximum for exact memory of a process */
  PROC_PASS_BYTES = 2 << 20,
  PROC_ENDS_BYTES = 1 << 20, /* ring of ended processes; half full, it wakes its reader */
};

/* Bits of proc_record.flags. */
enum {
  PROC_KERNEL_THREAD = 1,
  PROC_HAS_MEMORY = 2, /* resident, virtual and swap are known */
  PROC_HAS_FILES = 4,  /* open_files is known */
  PROC_HAS_IO = 8,     /* read_bytes and write_bytes are counted by this kernel */
  PROC_HAS_CALLS = 16, /* rchar to syscw are counted by this kernel */
  PROC_HAS_DELAY = 32,
  PROC_SOLO = 64,     /* it has one thread and never had another one */
  PROC_PARTIAL = 128, /* threads ended meanwhile, or are too many to count: the counters are incomplete */
};

struct proc_head {
  __u32 kind;
  __s32 pid;
};

/* Counters of a process since its start, summed over live and ended threads. Times are in ns. */
struct proc_counts {
  __u64 exec_ns;            /* on a CPU, exactly */
  __u64 user_ns, system_ns; /* as the kernel divides it, by ticks */
  __u64 delay_ns;           /* runnable but waiting for a CPU; of live threads only */
  __u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes;
  __u64 min_flt, maj_flt, nvcsw, nivcsw;
};

struct proc_record {
  struct proc_head head;
  __u32 flags, threads;
  __s32 parent;
  __u32 user;  /* effective */
  __u32 state; /* __state, and exit_state above bit 16 */
  __u32 open_files;
  __u64 start_ns;                     /* since boot */
  __u64 read_ns;                      /* monotonic, when it was read */
  __u64 ended_exec_ns;                /* the part of exec_ns of threads that have ended */
  __s64 resident, virtual_size, swap; /* pages */
  struct proc_counts counts;
  char comm[PROC_COMM];
};

struct proc_key {
  __u64 start_ns;
  __s64 pid;
};

/* Read and write calls of ended threads of a process. */
struct proc_calls {
  __u64 rchar, wchar, syscr, syscw;
};

/* Values of a process that are readable only at its exit; kept until the kernel frees the process. */
struct proc_leaving {
  __u64 exit_ns; /* monotonic */
  __u64 cgroup;
  __u32 solo;                /* it never had another thread */
  __u32 flags;               /* as of a record */
  struct proc_counts counts; /* of a solo one, up to the exit: the last ones where the kernel does not report the freeing */
  char comm[PROC_COMM];
  char parent[PROC_COMM];
  __s64 parent_pid; /* of 64 bits, so that the struct has no padding */
};

/* A process that has ended, with its final values. */
struct proc_exit {
  __s32 pid;
  __u32 flags;
  __u64 start_ns;
  __u64 cgroup;
  struct proc_counts counts;
  char comm[PROC_COMM];
  char parent[PROC_COMM]; /* as it was at the exit */
  __s64 parent_pid;       /* the same */
};

#endif
