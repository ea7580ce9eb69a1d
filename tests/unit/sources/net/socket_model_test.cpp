// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/socket_model.h"

#include <doctest/doctest.h>

#include <initializer_list>

#include "tests/unit/sources/net/records.h"

namespace atalaya::net {
namespace {

constexpr uint32_t kOut = NET_START_SEEN | NET_OUTGOING | NET_ESTABLISHED, kIn = NET_START_SEEN | NET_INCOMING | NET_ESTABLISHED;

// A window in which a walk reports these; ends come after it, as from the kernel.
void window(SocketModel &model, std::initializer_list<net_record> records, bool baseline = false, bool whole = false) {
  model.begin(baseline, whole);
  for (const net_record &record : records)
    if (record.kind != NET_CLOSED) model.add(record);
  model.end_walk();
  for (const net_record &record : records)
    if (record.kind == NET_CLOSED) model.add(record);
  model.end();
}

const NetProcess *find(const SocketModel &model, int32_t pid, uint64_t start_ns = 1'000'000'000) {
  for (const NetProcess *process : model.processes())
    if (process->owner.pid == pid && process->owner.start_ns == start_ns) return process;
  return nullptr;
}

net_use use(int32_t pid, uint32_t protocol, uint64_t in_bytes, uint64_t out_bytes, uint64_t calls) {
  net_use use{};
  use.owner = owner(pid, "caller");
  use.ends = ends(1, 40000, 2, 53);
  use.protocol = protocol;
  use.in_bytes = in_bytes;
  use.out_bytes = out_bytes;
  use.in_calls = use.out_calls = calls;
  return use;
}

TEST_CASE("a connection that was there before counts from the first look on, one that is born counts whole") {
  SocketModel model{ModelOptions()};
  window(model, {record(NET_OPEN, 1, owner(10, "old"), 0, 5000, 5000)}, true, true);
  CHECK(model.flows().collected().empty());
  window(model, {record(NET_OPEN, 1, owner(10, "old"), 0, 5700, 5001), record(NET_OPEN, 2, owner(11, "new"), kOut, 30, 40)});
  REQUIRE(find(model, 10) != nullptr);
  CHECK(find(model, 10)->moved_tcp.in_bytes == 700);
  CHECK(find(model, 10)->moved_tcp.out_bytes == 1);
  CHECK(find(model, 10)->connects == 0);
  REQUIRE(find(model, 11) != nullptr);
  CHECK(find(model, 11)->moved_tcp.in_bytes == 30);
  CHECK(find(model, 11)->moved_tcp.out_bytes == 40);
  CHECK(find(model, 11)->connects == 1);
  CHECK(find(model, 11)->connections == 1);
}

TEST_CASE("a connection within a window is reported by its end, once; one that was reported before adds the remainder") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  window(model, {record(NET_OPEN, 2, owner(10, "long"), kOut, 100, 0), record(NET_CLOSED, 3, owner(11, "short"), kIn, 10, 20)});
  CHECK(find(model, 11)->moved_tcp.in_bytes == 10);
  CHECK(find(model, 11)->accepts == 1);
  CHECK(find(model, 11)->connections == 0);
  window(model, {record(NET_CLOSED, 2, owner(10, "long"), kOut | NET_REPORTED, 150, 1)});
  CHECK(find(model, 10)->moved_tcp.in_bytes == 50);
  CHECK(find(model, 10)->connects == 0);
  CHECK(find(model, 10)->connections == 0);
  CHECK(model.sockets() == 0);
  window(model, {});
  CHECK(model.processes().empty());
}

TEST_CASE("a connection reported before and forgotten is not counted again") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  window(model, {record(NET_CLOSED, 7, owner(10, "x"), kOut | NET_REPORTED, 1000, 1000)});
  CHECK(model.processes().empty());
  CHECK(model.lost() == 1);  // bytes that it moved since
  window(model, {record(NET_CLOSED, 8, owner(10, "x"), NET_ESTABLISHED, 1000, 1000)});
  CHECK(model.processes().empty());
}

TEST_CASE("brief connections with an unknown peer count for their process, and in the others") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  net_record like = record(NET_CLOSED, 0, owner(10, "x"), kOut, 0, 0);
  like.ends = {};
  Traffic together;
  together.out_bytes = 700;
  together.connections = 7;
  model.begin(false, false);
  model.end_walk();
  model.add_brief(like, together);
  model.end();
  CHECK(find(model, 10)->connects == 7);
  CHECK(find(model, 10)->moved_tcp.out_bytes == 700);
  CHECK(model.flows().collected().empty());
  CHECK(model.flows().others().merged == 7);
  CHECK(model.flows().others().moved.out_bytes == 700);
}

TEST_CASE("brief connections together are as many as they are") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  const net_record like = record(NET_CLOSED, 0, owner(10, "x"), kOut, 0, 0);
  Traffic together;
  together.in_bytes = 700;
  together.connections = 7;
  model.begin(false, false);
  model.end_walk();
  model.add_brief(like, together);
  model.add_brief(record(NET_CLOSED, 0, owner(10, "x"), NET_START_SEEN | NET_OUTGOING, 0, 0), together);
  model.end();
  CHECK(find(model, 10)->connects == 7);
  CHECK(find(model, 10)->failures == 7);
  CHECK(find(model, 10)->moved_tcp.in_bytes == 700);
  REQUIRE(model.flows().collected().size() == 1);
  CHECK(model.flows().collected()[0].moved.connections == 7);
}

TEST_CASE("a failed connection counts for the process that requested it") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  window(model, {record(NET_CLOSED, 7, owner(10, "x"), NET_START_SEEN | NET_OUTGOING, 0, 0)});
  CHECK(find(model, 10)->failures == 1);
  CHECK(find(model, 10)->connects == 0);
  CHECK(model.flows().collected().empty());
}

TEST_CASE("a socket of several processes stays with the one that had it, else it goes to the first") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  window(model, {record(NET_OPEN, 1, owner(20, "second"), kOut, 0, 100)});
  window(model, {record(NET_OPEN, 1, owner(10, "first"), kOut, 0, 150), record(NET_OPEN, 1, owner(20, "second"), kOut, 0, 160)});
  CHECK(find(model, 20)->moved_tcp.out_bytes == 60);
  CHECK(find(model, 10) == nullptr);
  window(model, {record(NET_OPEN, 1, owner(10, "first"), kOut, 0, 170), record(NET_OPEN, 1, owner(30, "third"), kOut, 0, 170)});
  CHECK(find(model, 10)->moved_tcp.out_bytes == 10);
  CHECK(find(model, 10)->connections == 1);
  CHECK(find(model, 20)->connections == 0);
}

TEST_CASE("a pid that is used again is another process, an exec the same one with another name") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  window(model, {record(NET_CLOSED, 1, owner(10, "one", 5), kOut, 0, 100), record(NET_OPEN, 2, owner(10, "two", 6), kOut, 0, 7)});
  CHECK(find(model, 10, 5)->moved_tcp.out_bytes == 100);
  CHECK(find(model, 10, 6)->moved_tcp.out_bytes == 7);
  window(model, {record(NET_OPEN, 2, owner(10, "three", 6), kOut, 0, 8)});
  CHECK(find(model, 10, 6)->owner.text() == "three");
  CHECK(find(model, 10, 6)->connections == 1);
}

TEST_CASE("counters of packets wrap, bytes that seem to fall are nothing") {
  SocketModel model{ModelOptions()};
  net_record before = record(NET_OPEN, 1, owner(10, "x"), 0, 1000, 1000), after = before;
  before.amounts.in_packets = 0xfffffff0;
  after.amounts.in_packets = 0x10;
  after.amounts.out_bytes = 999;
  window(model, {before}, true, true);
  window(model, {after});
  CHECK(find(model, 10)->moved_tcp.in_packets == 0x20);
  CHECK(find(model, 10)->moved_tcp.out_bytes == 0);
  after.amounts.out_bytes = 1001;
  window(model, {after});
  CHECK(find(model, 10)->moved_tcp.out_bytes == 1);
}

TEST_CASE("ports of one connection alone are merged; the side that opened it is known, or the listener shows it") {
  SocketModel model{ModelOptions()};
  net_record listens = record(NET_LISTENS, 9, owner(10, "x"), 0, 0, 0);
  listens.ends = ends(1, 443, 0, 0);
  net_record old = record(NET_OPEN, 1, owner(10, "x"), 0, 0, 0);
  old.ends = ends(1, 443, 2, 50000);
  window(model, {listens, old}, true, true);
  old.amounts.out_bytes = 10;
  net_record other = record(NET_OPEN, 2, owner(10, "x"), kIn, 0, 5);
  other.ends = ends(1, 443, 2, 50001);
  net_record out = record(NET_OPEN, 3, owner(10, "x"), kOut, 0, 7);
  ++old.amounts.out_packets;
  window(model, {old, other, out});
  const auto flows = model.flows().collected();
  REQUIRE(flows.size() == 2);
  CHECK(flows[0].key.direction == Direction::in);
  CHECK(flows[0].key.port() == 443);
  CHECK(flows[0].key.ends.remote_port == 0);
  CHECK(flows[0].moved.out_bytes == 15);
  CHECK(flows[0].moved.connections == 2);
  CHECK(flows[1].key.direction == Direction::out);
  CHECK(flows[1].key.port() == 80);
  CHECK(flows[1].key.ends.local_port == 0);
}

TEST_CASE("a connection keeps its direction when its listener has gone") {
  SocketModel model{ModelOptions()};
  net_record listens = record(NET_LISTENS, 9, owner(10, "x"), 0, 0, 0);
  listens.ends = ends(1, 443, 0, 0);
  net_record old = record(NET_OPEN, 1, owner(10, "x"), 0, 0, 0);
  old.ends = ends(1, 443, 2, 50000);
  window(model, {listens, old}, true, true);
  old.amounts.out_bytes = 10;
  window(model, {old}, false, true);
  REQUIRE(model.flows().collected().size() == 1);
  CHECK(model.flows().collected()[0].key.direction == Direction::in);
  old.kind = NET_CLOSED;
  old.flags = NET_REPORTED;
  old.amounts.out_bytes = 15;
  window(model, {old});
  REQUIRE(model.flows().collected().size() == 1);
  CHECK(model.flows().collected()[0].key.direction == Direction::in);
}

TEST_CASE("Unix sockets of a process are one flow, in all network namespaces") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  net_use first = use(10, NET_UNIX, 1, 0, 1), second = first;
  second.ends.space = 7;
  model.begin(false, false);
  model.use({5, 10, 0}, first);
  model.use({6, 10, 0}, second);
  model.end();
  REQUIRE(model.flows().collected().size() == 1);
  CHECK(model.flows().collected()[0].moved.in_bytes == 2);
}

TEST_CASE("calls count since the first, rest twice and are forgotten; datagrams are calls") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  const net_use_key key{5, 10, 0};
  model.begin(false, false);
  CHECK_FALSE(model.use(key, use(10, IPPROTO_UDP, 300, 100, 3)));
  model.end();
  CHECK(find(model, 10)->moved_udp.in_bytes == 300);
  CHECK(find(model, 10)->moved_udp.out_packets == 3);
  CHECK_FALSE(find(model, 10)->tcp);
  for (const bool idle : {false, true}) {
    model.begin(false, false);
    CHECK(model.use(key, use(10, IPPROTO_UDP, 300, 100, 3)) == idle);
    if (idle) model.use(key, use(10, IPPROTO_UDP, 300, 100, 3), true);
    model.end();
    CHECK(find(model, 10)->moved_udp.bytes() == 0);  // known to be nothing
    CHECK(model.flows().collected().empty());
  }
  model.begin(false, false);
  model.use(key, use(10, IPPROTO_UDP, 1, 0, 1));  // the kernel starts again from 0
  model.end();
  CHECK(find(model, 10)->moved_udp.in_bytes == 1);
}

TEST_CASE("a call that comes while its use is being forgotten counts, and so does all that comes after it") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  const net_use_key key{5, 10, 0};
  bool idle = false;
  for (int i = 0; i < 3; ++i) {
    model.begin(false, false);
    idle = model.use(key, use(10, IPPROTO_UDP, 0, 100, 1));
    if (idle) model.use(key, use(10, IPPROTO_UDP, 0, 500, 2), true);  // as it was when the kernel forgot it
    model.end();
  }
  CHECK(idle);
  CHECK(find(model, 10)->moved_udp.out_bytes == 400);
  model.begin(false, false);
  model.use(key, use(10, IPPROTO_UDP, 0, 600, 3));  // again, from 0
  model.end();
  CHECK(find(model, 10)->moved_udp.out_bytes == 600);
  CHECK(find(model, 10)->moved_udp.out_packets == 3);
}

TEST_CASE("by system call, bytes are the caller's and segments the holder's") {
  ModelOptions options;
  options.tcp_by_call = true;
  SocketModel model{options};
  window(model, {}, true, true);
  model.begin(false, false);
  model.add(record(NET_OPEN, 1, owner(10, "holder"), kOut, 0, 3000));
  model.end_walk();
  model.use({1, 11, 0}, use(11, IPPROTO_TCP, 0, 3000, 2));
  model.end();
  CHECK(find(model, 10)->moved_tcp.out_bytes == 0);
  CHECK(find(model, 10)->moved_tcp.out_packets == 31);
  CHECK(find(model, 11)->moved_tcp.out_bytes == 3000);
  CHECK(find(model, 11)->moved_tcp.out_packets == 0);
}

TEST_CASE("without amounts each connection counts once") {
  ModelOptions options;
  options.amounts = false;
  SocketModel model{options};
  window(model, {}, true, true);
  window(model, {record(NET_OPEN, 1, owner(10, "x"), kOut, 10, 10)});
  REQUIRE(model.flows().collected().size() == 1);
  CHECK(model.flows().collected()[0].moved.connections == 1);
  CHECK(model.flows().collected()[0].moved.bytes() == 0);
  window(model, {record(NET_OPEN, 1, owner(10, "x"), kOut, 20, 20)});
  CHECK(model.flows().collected().empty());
  window(model, {record(NET_CLOSED, 1, owner(10, "x"), kOut | NET_REPORTED, 20, 20)});
  CHECK(model.flows().collected().empty());
}

TEST_CASE("a connection whose end was lost is forgotten when no whole walk has met it for long") {
  SocketModel model{ModelOptions()};
  window(model, {record(NET_OPEN, 1, owner(10, "x"), kOut, 10, 10)}, true, true);
  for (int i = 0; i < 20; ++i) {
    window(model, {record(NET_OPEN, 2, owner(11, "y"), kOut, 10, 10)}, false, true);
    CHECK(find(model, 11)->connections == 1);
  }
  CHECK(model.sockets() == 1);
  CHECK(find(model, 10) == nullptr);
}

TEST_CASE("a baseline reports no traffic, and traffic found in it is not counted later") {
  SocketModel model{ModelOptions()};
  window(model, {}, true, true);
  window(model, {record(NET_OPEN, 1, owner(10, "x"), kOut, 500, 500), record(NET_CLOSED, 2, owner(11, "y"), kOut, 9, 9)}, true);
  CHECK(model.flows().collected().empty());
  window(model, {record(NET_OPEN, 1, owner(10, "x"), kOut, 600, 500)});
  CHECK(find(model, 10)->moved_tcp.in_bytes == 100);
  CHECK(find(model, 10)->connects == 0);
}

}  // namespace
}  // namespace atalaya::net
