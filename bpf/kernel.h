/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The few kernel structures that the programs of this folder read, with the kernel's names (include/linux/sched.h,
 * sched/signal.h, mm_types.h, cgroup-defs.h, task_io_accounting.h, ...). CO-RE relocates each field at load, so order and size are
 * irrelevant here, and no generated header is needed. A suffix ___x is a flavour: the same structure in another kernel version.
 */
#ifndef ATALAYA_BPF_KERNEL_H
#define ATALAYA_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
  struct list_head *next, *prev;
};

typedef struct {
  int counter;
} atomic_t;

typedef struct {
  long counter;
} atomic_long_t;

typedef struct {
  __u32 val;
} kuid_t;

struct task_io_accounting {
  __u64 rchar, wchar, syscr, syscw; /* CONFIG_TASK_XACCT */
  __u64 read_bytes, write_bytes;    /* CONFIG_TASK_IO_ACCOUNTING */
};

struct sched_info {
  unsigned long long run_delay; /* CONFIG_SCHED_INFO */
};

struct sched_entity {
  __u64 exec_start; /* last time on or off a CPU, in the scheduler's clock */
  __u64 sum_exec_runtime;
};

struct cred {
  kuid_t euid;
};

struct percpu_counter {
  __s64 count;
  __s32 *counters;
};

struct mm_struct {
  unsigned long total_vm;
  unsigned long start_code, end_code, start_stack;
  struct percpu_counter rss_stat[4]; /* since 6.2: f1a7941243c1 */
};

/* Every type below exists in every supported kernel; only fields may be absent. For a missing type, libbpf would search the kernel
 * modules, which requires CAP_SYS_ADMIN.
 */
struct mm_struct___before_6_2 {
  struct {
    atomic_long_t count[4];
  } rss_stat;
};

struct fdtable {
  unsigned int max_fds;
  unsigned long *open_fds;
};

struct files_struct {
  struct fdtable *fdt;
};

struct kernfs_node {
  __u64 id;
};

struct cgroup {
  struct kernfs_node *kn;
  int level;
};

struct cgroup_subsys_state {
  struct cgroup *cgroup;
};

enum cgroup_subsys_id {
  cpu_cgrp_id = 1,
  memory_cgrp_id = 4,
};

struct css_set {
  struct cgroup_subsys_state *subsys[4];
  struct cgroup *dfl_cgrp;
};

/* A seqlock; the sequence number is its first member in every kernel version. */
typedef struct {
  __u32 sequence;
} seqlock_t;

struct signal_struct {
  atomic_t live;
  int nr_threads;
  struct list_head thread_head;
  seqlock_t stats_lock;
  __u64 utime, stime; /* of ended threads; also the members below */
  unsigned long nvcsw, nivcsw, min_flt, maj_flt;
  unsigned long cmin_flt;         /* of reaped children and their reaped children */
  unsigned long inblock, oublock; /* read_bytes and write_bytes of ended threads, in blocks of 512 bytes */
  struct task_io_accounting ioac; /* of ended threads, and of reaped children */
  unsigned long long sum_sched_runtime;
  struct task_struct *group_exec_task; /* the thread that runs another program; since 5.17: 60700e38fb68 */
};

struct thread_struct {
#if defined(__TARGET_ARCH_x86)
  unsigned long fsbase;
#else
  struct {
    unsigned long tp_value;
  } uw;
#endif
};

struct task_struct {
  unsigned int __state; /* since 5.14: 2f064a59a11f */
  unsigned int flags;
  struct sched_entity se;
  struct sched_info sched_info;
  struct mm_struct *mm;
  int on_cpu;
  int exit_state;
  int pid, tgid;
  struct task_struct *real_parent, *group_leader;
  struct list_head thread_node;
  __u64 utime, stime;
  unsigned long nvcsw, nivcsw;
  __u64 start_time;     /* CLOCK_MONOTONIC */
  __u64 start_boottime; /* since 5.5: cf25e24db61c; the minimum kernel is 5.10 */
  unsigned long min_flt, maj_flt;
  const struct cred *real_cred;
  char comm[16];
  struct files_struct *files;
  struct signal_struct *signal;
  struct task_io_accounting ioac;
  struct css_set *cgroups;
  struct thread_struct thread;
};

struct task_struct___before_5_14 {
  long state;
};

/* Sockets: include/net/sock.h, inet_sock.h, linux/tcp.h, linux/net.h. */
struct ns_common {
  unsigned int inum;
};

struct net {
  struct ns_common ns;
};

typedef struct {
  struct net *net;
} possible_net_t;

struct in6_addr {
  union {
    __u8 u6_addr8[16];
  } in6_u;
};

struct sock_common {
  struct {
    __be32 skc_daddr;
    __be32 skc_rcv_saddr;
  };
  struct {
    __be16 skc_dport;
    __u16 skc_num;
  };
  unsigned short skc_family;
  volatile unsigned char skc_state;
  possible_net_t skc_net;
  struct in6_addr skc_v6_daddr;
  struct in6_addr skc_v6_rcv_saddr;
  unsigned long skc_flags;
};

typedef struct {
  int owned;
} socket_lock_t;

struct upid {
  int nr;
};

struct pid {
  struct upid numbers[1];
};

struct sock {
  struct sock_common __sk_common;
  socket_lock_t sk_lock;
  __u8 sk_userlocks;
  struct pid *sk_peer_pid;
  __u16 sk_protocol; /* a separate field since 5.6: bf9765145b85 */
};

struct inet_sock {
  __be16 inet_sport;
};

struct tcp_sock {
  __u32 segs_in, segs_out, srtt_us, write_seq, snd_una, total_retrans;
  __u64 bytes_received, bytes_acked;
};

struct socket {
  struct sock *sk;
};

/* Disks: include/linux/blkdev.h, blk-mq.h. */
struct gendisk {
  char disk_name[32];
};

struct request_queue {
  struct gendisk *disk; /* since 5.15: d152c682f03c */
};

struct request {
  struct request_queue *q;
};

struct request___before_5_16 {
  struct gendisk *rq_disk; /* until f3fa33acca9f */
};

struct file;

struct seq_file;

struct bpf_iter_meta {
  struct seq_file *seq;
};

struct bpf_iter__task {
  struct bpf_iter_meta *meta;
  struct task_struct *task;
};

struct bpf_iter__task_file {
  struct bpf_iter_meta *meta;
  struct task_struct *task;
  __u32 fd;
  struct file *file;
};

#pragma clang attribute pop

#endif
