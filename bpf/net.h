/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records that net.bpf.c sends to the source "net": fixed-width types with the same layout in BPF and in user space. */
#ifndef ATALAYA_BPF_NET_H
#define ATALAYA_BPF_NET_H

#include <linux/types.h>

enum {
  NET_COMM = 16,
  NET_UNIX = 1000, /* Unix sockets, as a value of `protocol` next to IPPROTO_TCP and IPPROTO_UDP */

  /* net_record.kind */
  NET_OPEN = 1,    /* the current state of a connection, for one of the processes that have it open */
  NET_LISTENS = 2, /* a socket that accepts connections */
  NET_CLOSED = 3,  /* the final state of a connection */
  NET_CALL = 4,    /* one send or receive call; `amounts` has the bytes of this call only */
};

/* net_record.flags and net_use.flags */
enum {
  NET_START_SEEN = 1,  /* the probes saw the connection start: its amounts count from the first byte */
  NET_OUTGOING = 2,    /* opened from this side */
  NET_INCOMING = 4,    /* accepted by a listening socket */
  NET_ESTABLISHED = 8, /* the connection has reached TCP_ESTABLISHED */
  NET_REPORTED = 16,   /* an earlier record of kind NET_OPEN reported it */
  NET_BOUND = 32,      /* the program chose the local port */
  NET_SEEN = 64,       /* a walk over all sockets has reported it, or reports it now */
};

struct net_owner {
  __u64 start_ns; /* start of the process, since boot; pid and start_ns identify the process */
  __u64 cgroup;   /* id; 0: unknown */
  __s32 pid;      /* 0: unknown */
  __u32 reserved;
  char comm[NET_COMM];
};

/* Both ends of a connection. Addresses are IPv6; an IPv4 address is mapped (::ffff:a.b.c.d). */
struct net_ends {
  __u8 local[16], remote[16];
  __u16 local_port, remote_port;
  __u32 space; /* network namespace: its inode number */
};

/* Counters of a connection since its start. */
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

/* Identifies the traffic of a process through a socket. A UDP socket has one key per peer address and port. The port is 0 if the
 * program chose the local port and ports are merged; both are 0 if the peer is unknown. For other sockets both are 0.
 */
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
