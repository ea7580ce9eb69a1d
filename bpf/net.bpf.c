// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Network traffic by process and peer. The kernel counts the bytes of each TCP connection: a walk over the open files of all
 * processes reads these counters once per window with the holder of the socket, and a hook on the connection's states reads them a
 * last time at its end. Neither is on the data path. UDP sockets have no counters, and shared sockets have none per process: two
 * hooks, attached only on request, sum the bytes of system calls in a map, or report each call. The peer of an unconnected UDP
 * socket is in the call: hooks of the cgroup, which only such calls reach, note it for the thread.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "cgroup.h"
#include "net.h"

char _license[] SEC("license") = "Dual BSD/GPL";

#define PF_KTHREAD 0x00200000
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000  /* sent data, returned with its time stamp or error */
#define SOCK_DONE 1          /* include/net/sock.h: the other side's FIN has arrived */
#define SOCK_BINDPORT_LOCK 8 /* the program has chosen the port */

/* include/net/tcp_states.h */
enum {
  TCP_ESTABLISHED = 1,
  TCP_SYN_SENT,
  TCP_SYN_RECV,
  TCP_FIN_WAIT1,
  TCP_FIN_WAIT2,
  TCP_TIME_WAIT,
  TCP_CLOSE,
  TCP_CLOSE_WAIT,
  TCP_LAST_ACK,
  TCP_LISTEN,
  TCP_CLOSING
};

/* Set before loading: the protocols whose calls are counted, and whether each call gets a record. */
const volatile __u8 calls_of_tcp, calls_of_udp, calls_of_unix, every_call; /* not bool: the loader is compiled as C++ */
const volatile __u8 peers_of_calls;                                        /* the hooks of the cgroup are attached */
const volatile __u8 merge_ports;
const volatile __s32 own_pid;     /* the agent's */
const volatile __u64 wake_at = 1; /* bytes in the ring from which on its reader is woken */

/* Set before each walk: its number, and whether unchanged connections are reported too. */
__u32 pass;
__u32 whole;

/* Records without room in the ring, and calls of new sockets without room in the map. */
__u64 lost_records, lost_calls;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} records SEC(".maps");

/* The state of an open connection. An accepted connection inherits the owner of the listener. */
struct connection {
  struct net_owner owner; /* the last process seen working on it */
  __u64 mark;             /* at the last report: changes with each packet */
  __u32 pass;
  __u32 flags; /* written by the hook; the walk writes those below, so that neither overwrites the other */
  __u32 reported;
  /* A walk and the end may run at once on two processors. Each sets its own mark first and then reads the other: either the end
   * sees that a walk has seen the connection, or the walk sees that it has ended. */
  __u32 seen, ended;
};

struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
  __type(key, int);
  __type(value, struct connection);
} connections SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, struct net_use_key);
  __type(value, struct net_use);
} uses SEC(".maps");

/* The same by peer, for UDP. Without room, the amounts are in `uses`, with an unknown peer. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, struct net_use_key);
  __type(value, struct net_use);
} peer_uses SEC(".maps");

/* The peer that the current call of a thread names. */
struct call_peer {
  __u64 cookie; /* 0: none */
  __u8 address[16];
  __u16 port, reserved[3];
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, __s32); /* thread */
  __type(value, struct call_peer);
} call_peers SEC(".maps");

/* ---- Reading processes and sockets ---- */

static void set_owner(struct net_owner *owner, struct task_struct *task) {
  struct task_struct *leader = task->group_leader;
  owner->pid = task->tgid;
  owner->start_ns = leader->start_boottime;
  owner->cgroup = cgroup_of(leader);
  BPF_CORE_READ_INTO(&owner->comm, leader, comm);
}

/* A process that works on a socket holds its lock; processing of incoming packets does not. So the lock distinguishes a change
 * caused by the current process from one that only happens while it runs. The last holder may close a file while our walk reads it:
 * then the agent ends the connection for another process. */
static void take_owner(struct connection *connection, struct sock *sk) {
  if (!sk->sk_lock.owned) return;
  struct task_struct *task = bpf_get_current_task_btf();
  if ((task->flags & PF_KTHREAD || task->tgid == own_pid) && connection->owner.pid) return;
  set_owner(&connection->owner, task);
}

static void map_address(__u8 *to, __be32 address) {
  __builtin_memset(to, 0, 10);
  to[10] = to[11] = 0xff;
  __builtin_memcpy(to + 12, &address, 4);
}

static void set_ends(struct net_ends *ends, const struct sock *sk) {
  const struct sock_common *common = &sk->__sk_common;
  if (common->skc_family == AF_INET) {
    map_address(ends->local, common->skc_rcv_saddr);
    map_address(ends->remote, common->skc_daddr);
  } else if (common->skc_family == AF_INET6 && bpf_core_field_exists(common->skc_v6_daddr)) { /* CONFIG_IPV6 */
    BPF_CORE_READ_INTO(&ends->local, common, skc_v6_rcv_saddr);
    BPF_CORE_READ_INTO(&ends->remote, common, skc_v6_daddr);
  }
  ends->space = common->skc_net.net->ns.inum;
  if (common->skc_family == AF_UNIX) return;
  /* At the end of a connection its port has been released, and skc_num is 0. */
  ends->local_port = __builtin_bswap16(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
  ends->remote_port = __builtin_bswap16(common->skc_dport);
}

/* The kernel counts the FIN of either side as a byte, and the SYN of the side that connects. */
static void set_amounts(struct net_amounts *amounts, const struct tcp_sock *tcp, const struct sock *sk, __u8 state, __u32 flags) {
  __u64 in = tcp->bytes_received, out = tcp->bytes_acked;
  const bool finishes = state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 || state == TCP_CLOSING || state == TCP_LAST_ACK;
  if (sk->__sk_common.skc_flags >> SOCK_DONE & 1 && in > 0) --in;
  if (flags & NET_OUTGOING && out > 0) --out;
  if (finishes && tcp->snd_una == tcp->write_seq && out > 0) --out;
  amounts->in_bytes = in;
  amounts->out_bytes = out;
  amounts->in_packets = tcp->segs_in;
  amounts->out_packets = tcp->segs_out;
  amounts->retransmits = tcp->total_retrans;
  amounts->rtt_us = tcp->srtt_us >> 3;
}

/* ---- The walk ---- */

static __u64 mark_of(const struct tcp_sock *tcp, __u8 state) {
  return ((__u64)tcp->segs_in << 32 | tcp->segs_out) ^ (__u64)state << 60;
}

static int report_listener(struct seq_file *seq, struct task_struct *task, struct sock *sk, __u64 cookie) {
  /* Connections accepted from now on inherit its owner. */
  struct connection *connection = bpf_sk_storage_get(&connections, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (connection && !connection->owner.pid) set_owner(&connection->owner, task);
  if (!whole) return 0;
  struct net_record record = {.kind = NET_LISTENS, .cookie = cookie, .protocol = IPPROTO_TCP};
  set_owner(&record.owner, task);
  set_ends(&record.ends, sk);
  bpf_seq_write(seq, &record, sizeof(record));
  return 0;
}

SEC("iter/task_file")
int every_socket(struct bpf_iter__task_file *ctx) {
  struct task_struct *task = ctx->task;
  struct file *file = ctx->file;
  if (!task || !file) return 0;
  struct socket *socket = bpf_sock_from_file(file);
  if (!socket) return 0;
  struct sock *sk = socket->sk;
  if (!sk) return 0;
  struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
  if (!tcp) return 0;
  const __u8 state = sk->__sk_common.skc_state;
  if (state == TCP_CLOSE || state == TCP_SYN_SENT) return 0;
  if (state == TCP_LISTEN) return report_listener(ctx->meta->seq, task, sk, bpf_get_socket_cookie(sk));

  struct connection *connection = bpf_sk_storage_get(&connections, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (connection) {
    __sync_fetch_and_add(&connection->seen, 1);
    if (*(volatile __u32 *)&connection->ended) return 0;
  }
  const __u64 mark = mark_of(tcp, state);
  if (connection && connection->mark == mark && connection->pass != pass && !whole) return 0;
  const __u32 flags = connection ? connection->flags : 0;
  const __u32 reported = connection && connection->reported ? NET_REPORTED : 0;
  struct net_record record = {
      .kind = NET_OPEN, .flags = flags | reported, .cookie = bpf_get_socket_cookie(sk), .protocol = IPPROTO_TCP};
  set_owner(&record.owner, task);
  set_ends(&record.ends, sk);
  set_amounts(&record.amounts, tcp, sk, state, flags);
  /* When the buffer is full the kernel calls again for the same file: only written records count as reported. */
  if (bpf_seq_write(ctx->meta->seq, &record, sizeof(record)) != 0) return 0;
  if (!connection) return 0; /* no socket storage left: it is reported in every walk, but not its end */
  connection->owner = record.owner;
  connection->mark = mark;
  connection->pass = pass;
  connection->reported = 1;
  return 0;
}

/* ---- Begins and ends ---- */

static void begin(struct sock *sk, __u32 flags) {
  struct connection *connection = bpf_sk_storage_get(&connections, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!connection) return;
  connection->flags = flags;
  connection->mark = 0;
  connection->pass = 0;
  connection->reported = connection->seen = connection->ended = 0;
  take_owner(connection, sk);
}

static void submit(struct net_record *record) {
  bpf_ringbuf_submit(record, bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= wake_at ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

static void report_end(struct sock *sk, const struct connection *connection, __u32 flags, __u8 before) {
  struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
  if (!tcp) return;
  struct net_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
  if (!record) {
    __sync_fetch_and_add(&lost_records, 1);
    return;
  }
  __builtin_memset(record, 0, sizeof(*record));
  record->kind = NET_CLOSED;
  record->flags = flags;
  record->cookie = bpf_get_socket_cookie(sk);
  record->owner = connection->owner;
  record->protocol = IPPROTO_TCP;
  set_ends(&record->ends, sk);
  set_amounts(&record->amounts, tcp, sk, before, flags);
  submit(record);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(state_changes, struct sock *sk, int before, int after) {
  if (sk->sk_protocol != IPPROTO_TCP) return 0;
  if (after == TCP_SYN_SENT) {
    begin(sk, NET_START_SEEN | NET_OUTGOING);
    return 0;
  }
  if (after == TCP_SYN_RECV && before != TCP_SYN_SENT) {
    begin(sk, NET_START_SEEN | NET_INCOMING);
    return 0;
  }
  if (after == TCP_LISTEN) {
    begin(sk, 0);
    return 0;
  }
  struct connection *connection = bpf_sk_storage_get(&connections, sk, 0, 0);
  if (!connection || connection->ended) return 0;
  take_owner(connection, sk);
  if (after == TCP_ESTABLISHED) connection->flags |= NET_ESTABLISHED;
  if (after != TCP_CLOSE) return 0;
  /* The state stays with the socket: without it a concurrent walk would treat the socket as a new connection. */
  __sync_fetch_and_add(&connection->ended, 1);
  const __u32 seen = *(volatile __u32 *)&connection->seen ? NET_SEEN : 0;
  const __u32 flags = connection->flags | seen | (connection->reported ? NET_REPORTED : 0);
  /* If it began before the start and no walk has seen it, its earlier traffic is unknown. */
  if (before != TCP_LISTEN && flags & (NET_START_SEEN | NET_REPORTED)) report_end(sk, connection, flags, before);
  return 0;
}

/* ---- Calls ---- */

/* NET_UNIX, or the protocol of the internet; 0: its calls are not counted. */
static __u32 wanted_protocol(const struct sock *sk) {
  const __u16 family = sk->__sk_common.skc_family, protocol = sk->sk_protocol;
  if (family == AF_UNIX) return calls_of_unix ? NET_UNIX : 0;
  if (family != AF_INET && family != AF_INET6) return 0;
  return (protocol == IPPROTO_UDP && calls_of_udp) || (protocol == IPPROTO_TCP && calls_of_tcp) ? protocol : 0;
}

/* In the host's pid namespace, which has the first number. */
static __s32 peer_of(const struct sock *sk, __u32 protocol) {
  return protocol == NET_UNIX ? BPF_CORE_READ(sk, sk_peer_pid, numbers[0].nr) : 0;
}

static __u32 flags_of(struct sock *sk) {
  const struct connection *connection = bpf_sk_storage_get(&connections, sk, 0, 0);
  const __u32 bound = sk->sk_userlocks & SOCK_BINDPORT_LOCK ? NET_BOUND : 0;
  return bound | (connection ? connection->flags & (NET_OUTGOING | NET_INCOMING) : 0);
}

/* ---- Peers of datagrams ---- */

static int set_peer(struct bpf_sock_addr *call, struct call_peer *peer) {
  const __s32 thread = bpf_get_current_task_btf()->pid;
  peer->cookie = bpf_get_socket_cookie(call);
  peer->port = __builtin_bswap16(call->user_port);
  struct call_peer *known = bpf_map_lookup_elem(&call_peers, &thread);
  if (known)
    *known = *peer;
  else
    bpf_map_update_elem(&call_peers, &thread, peer, BPF_ANY);
  return 1; /* the call continues */
}

static int note_peer4(struct bpf_sock_addr *call) {
  struct call_peer peer = {};
  map_address(peer.address, call->user_ip4);
  return set_peer(call, &peer);
}

static int note_peer6(struct bpf_sock_addr *call) {
  struct call_peer peer = {};
  __u32 *address = (__u32 *)peer.address;
  address[0] = call->user_ip6[0];
  address[1] = call->user_ip6[1];
  address[2] = call->user_ip6[2];
  address[3] = call->user_ip6[3];
  return set_peer(call, &peer);
}

SEC("cgroup/sendmsg4")
int names_receiver4(struct bpf_sock_addr *call) {
  return note_peer4(call);
}

SEC("cgroup/sendmsg6")
int names_receiver6(struct bpf_sock_addr *call) {
  return note_peer6(call);
}

SEC("cgroup/recvmsg4")
int names_sender4(struct bpf_sock_addr *call) {
  return note_peer4(call);
}

SEC("cgroup/recvmsg6")
int names_sender6(struct bpf_sock_addr *call) {
  return note_peer6(call);
}

/* The peer that this call named: null if it named none. */
static struct call_peer *take_peer(struct sock *sk, struct task_struct *task) {
  if (!peers_of_calls) return 0;
  const __s32 thread = task->pid;
  struct call_peer *peer = bpf_map_lookup_elem(&call_peers, &thread);
  if (!peer || peer->cookie != bpf_get_socket_cookie(sk)) return 0;
  peer->cookie = 0;
  return peer;
}

/* Without a named peer: that of a connected socket. */
static void set_call_ends(struct net_ends *ends, const struct sock *sk, const struct call_peer *named) {
  set_ends(ends, sk);
  if (!named) return;
  __builtin_memcpy(ends->remote, named->address, sizeof(ends->remote));
  ends->remote_port = named->port;
}

/* ---- Counting calls ---- */

static void report_call(struct sock *sk, __u32 protocol, struct task_struct *task, const struct call_peer *named, __u64 in,
                        __u64 out) {
  struct net_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
  if (!record) {
    __sync_fetch_and_add(&lost_records, 1);
    return;
  }
  __builtin_memset(record, 0, sizeof(*record));
  record->kind = NET_CALL;
  record->flags = flags_of(sk);
  record->cookie = bpf_get_socket_cookie(sk);
  record->protocol = protocol;
  record->peer = peer_of(sk, protocol);
  set_owner(&record->owner, task);
  set_call_ends(&record->ends, sk, named);
  record->amounts.in_bytes = in;
  record->amounts.out_bytes = out;
  record->amounts.in_packets = in > 0;
  record->amounts.out_packets = out > 0;
  submit(record);
}

static struct net_use *use_in(void *map, const struct net_use_key *key, struct sock *sk, __u32 protocol, struct task_struct *task,
                              const struct net_ends *ends) {
  struct net_use first = {.ends = *ends, .protocol = protocol, .flags = flags_of(sk), .peer = peer_of(sk, protocol)};
  set_owner(&first.owner, task);
  bpf_map_update_elem(map, key, &first, BPF_NOEXIST); /* another thread may have been faster */
  return bpf_map_lookup_elem(map, key);
}

static struct net_use *use_of(struct sock *sk, __u32 protocol, struct task_struct *task) {
  const struct net_use_key key = {.cookie = bpf_get_socket_cookie(sk), .pid = task->tgid};
  struct net_use *use = bpf_map_lookup_elem(&uses, &key);
  if (use) return use;
  struct net_ends ends = {};
  set_ends(&ends, sk);
  if (protocol == IPPROTO_UDP) { /* of several peers */
    __builtin_memset(ends.remote, 0, sizeof(ends.remote));
    ends.remote_port = 0;
  }
  return use_in(&uses, &key, sk, protocol, task, &ends);
}

static struct net_use *use_of_peer(struct sock *sk, struct task_struct *task, const struct call_peer *named) {
  struct net_ends ends = {};
  set_call_ends(&ends, sk, named);
  struct net_use_key key = {.cookie = bpf_get_socket_cookie(sk), .pid = task->tgid};
  if (!merge_ports || !(sk->sk_userlocks & SOCK_BINDPORT_LOCK)) key.port = ends.remote_port;
  __builtin_memcpy(key.address, ends.remote, sizeof(key.address));
  struct net_use *use = bpf_map_lookup_elem(&peer_uses, &key);
  return use ? use : use_in(&peer_uses, &key, sk, IPPROTO_UDP, task, &ends);
}

static int count_call(struct sock *sk, int bytes, bool sends, bool moves) {
  const __u32 protocol = wanted_protocol(sk);
  if (!protocol) return 0;
  struct task_struct *task = bpf_get_current_task_btf();
  const struct call_peer *named = protocol == IPPROTO_UDP ? take_peer(sk, task) : 0;
  if (bytes <= 0 || !moves) return 0;
  if (every_call) {
    report_call(sk, protocol, task, named, sends ? 0 : bytes, sends ? bytes : 0);
    return 0;
  }
  struct net_use *use = protocol == IPPROTO_UDP ? use_of_peer(sk, task, named) : 0;
  if (!use) use = use_of(sk, protocol, task);
  if (!use) {
    __sync_fetch_and_add(&lost_calls, 1);
    return 0;
  }
  if (sends) {
    __sync_fetch_and_add(&use->out_bytes, bytes);
    __sync_fetch_and_add(&use->out_calls, 1);
  } else {
    __sync_fetch_and_add(&use->in_bytes, bytes);
    __sync_fetch_and_add(&use->in_calls, 1);
  }
  return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(socket_sends, struct sock *sk, int bytes, int flags) {
  return count_call(sk, bytes, true, true);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(socket_receives, struct sock *sk, int bytes, int flags) {
  return count_call(sk, bytes, false, !(flags & (MSG_PEEK | MSG_ERRQUEUE)));
}
