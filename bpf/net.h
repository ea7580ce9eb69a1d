/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of net.bpf.c for the source "net": plain fixed-width types, the same on both sides. */
#ifndef ATALAYA_BPF_NET_H
#define ATALAYA_BPF_NET_H

#include <linux/types.h>

enum {
  NET_COMM = 16,
  NET_UNIX = 1000, /* a protocol like IPPROTO_TCP and IPPROTO_UDP: Unix sockets */

  /* net_record.kind */
  NET_OPEN = 1,    /* the current state of a connection, for one of the processes that hold it */
  NET_LISTENS = 2, /* a socket that accepts connections */
  NET_CLOSED = 3,  /* a connection at its end */
  NET_MOVED = 4,   /* one send or receive: amounts are of this call only */
};

/* net_record.flags and net_use.flags */
enum {
  NET_BORN = 1,        /* its beginning was seen: its amounts are known from the first byte */
  NET_OUTGOING = 2,    /* opened from this side */
  NET_INCOMING = 4,    /* accepted by a listening socket */
  NET_ESTABLISHED = 8, /* it was at least once */
  NET_REPORTED = 16,   /* reported before as NET_OPEN */
  NET_BOUND = 32,      /* its program chose the local port */
  NET_SEEN = 64,       /* seen by a walk: it has been reported, or is being reported now */
};

struct net_owner {
  __u64 start_ns; /* of the process, since boot; with the pid its identity */
  __u64 cgroup;   /* id; 0: unknown */
  __s32 pid;      /* 0: unknown */
  __u32 reserved;
  char comm[NET_COMM];
};

/* Addresses as of IPv6; one of IPv4 is mapped (::ffff:a.b.c.d). */
struct net_ends {
  __u8 local[16], remote[16];
  __u16 local_port, remote_port;
  __u32 space; /* network namespace: its inode number */
};

/* Since the connection began. */
struct net_amounts {
  __u64 in_bytes, out_bytes; /* payload: received in order; sent and acknowledged */
  __u32 in_packets, out_packets, retransmits;
  __u32 rtt_us; /* smoothed; 0: unknown */
};

struct net_record {
  __u32 kind, flags;
  __u64 cookie; /* the kernel's number of the socket, never reused */
  struct net_owner owner;
  struct net_ends ends;
  struct net_amounts amounts;
  __u32 protocol;
  __s32 peer; /* of a Unix socket: the pid of the opener of the other end; 0: unknown */
};

/* UDP sockets: one key for each peer. Its port is 0 if the program chose the local port and ports are merged; address and port are
 * 0 if the peer is unknown. For other sockets both are 0. */
struct net_use_key {
  __u64 cookie;
  __s32 pid;
  __u16 port, reserved;
  __u8 address[16];
};

/* Data sent and received by one process through one socket, by its system calls. */
struct net_use {
  struct net_owner owner;
  struct net_ends ends;
  __u32 protocol, flags;
  __s32 peer; /* as above */
  __u32 reserved;
  __u64 in_bytes, out_bytes, in_calls, out_calls;
};

#endif
