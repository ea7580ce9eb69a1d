// SPDX-License-Identifier: Apache-2.0
// Both backends on connections of this process; and the report of the kernel's backend when its maps are full.
#include "plugins/sources/net/backend.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atalaya/plugin.hpp>

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "plugins/sources/net/diag/diag_backend.h"
#include "tests/unit/without_bpf.h"

namespace atalaya::net {
namespace {

using core::Descriptor;

std::unique_ptr<Backend> bpf_or_skip(const BackendOptions &options = {}) {
  auto backend = open_bpf_backend(options);
  if (backend) return std::move(*backend);
  tests::skip_without_bpf(backend.error());
  return nullptr;
}

sockaddr_in loopback(uint16_t port = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// A connection of which both ends are here.
class Pair {
 public:
  Pair() {
    const Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback();
    socklen_t size = sizeof(address);
    REQUIRE(::bind(server.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
    REQUIRE(::listen(server.get(), 1) == 0);
    REQUIRE(::getsockname(server.get(), reinterpret_cast<sockaddr *>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    client_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(client_.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
    taken_ = Descriptor(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(taken_);
  }
  void move(size_t bytes) const {
    std::vector<char> data(bytes);
    REQUIRE(::send(client_.get(), data.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    REQUIRE(::recv(taken_.get(), data.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes));
  }
  uint16_t port() const { return port_; }

 private:
  Descriptor client_, taken_;
  uint16_t port_ = 0;
};

// Of the connections with that port, by whether it is the local one.
std::map<bool, net_record> reported(const std::function<void(const Backend::Callback &)> &report, uint32_t kind, uint16_t port) {
  std::map<bool, net_record> ends;
  report([&](const net_record &record) {
    if (record.kind != kind) return;
    if (record.ends.local_port == port) ends[true] = record;
    if (record.ends.remote_port == port) ends[false] = record;
  });
  return ends;
}

std::map<bool, net_record> walk(Backend &backend, uint16_t port, bool whole = false) {
  return reported([&](const Backend::Callback &take) { backend.walk(whole, take); }, NET_OPEN, port);
}

TEST_CASE("both backends report the same connection") {
  const auto bpf = bpf_or_skip();
  if (!bpf) return;
  auto diag = open_diag_backend();
  REQUIRE(diag);
  const Pair pair;
  pair.move(100'000);
  auto kernel = walk(*bpf, pair.port());
  auto asked = walk(**diag, pair.port());
  REQUIRE(kernel.size() == 2);
  REQUIRE(asked.size() == 2);
  for (const bool server : {false, true}) {
    const net_record &a = kernel[server], &b = asked[server];
    CHECK(a.cookie == b.cookie);
    CHECK(std::memcmp(&a.ends, &b.ends, sizeof(a.ends)) == 0);
    CHECK(a.owner.pid == ::getpid());
    CHECK(b.owner.pid == ::getpid());
    CHECK(a.owner.start_ns / 10'000'000 * 10'000'000 == b.owner.start_ns);
    CHECK(std::string(a.owner.comm) == std::string(b.owner.comm));
    CHECK(a.amounts.in_bytes == b.amounts.in_bytes);
    CHECK(a.amounts.in_packets == b.amounts.in_packets);
    CHECK(a.amounts.out_packets == b.amounts.out_packets);
  }
  CHECK(kernel[true].amounts.in_bytes == 100'000);
  CHECK(kernel[false].amounts.out_bytes == 100'000);
  CHECK(asked[false].amounts.out_bytes == 100'001);  // the SYN
  CHECK((kernel[true].flags & (NET_START_SEEN | NET_INCOMING)) == (NET_START_SEEN | NET_INCOMING));
  CHECK((kernel[false].flags & (NET_START_SEEN | NET_OUTGOING)) == (NET_START_SEEN | NET_OUTGOING));
}

TEST_CASE("a connection is reported when it has changed, or in a whole walk; its end is reported once") {
  const auto bpf = bpf_or_skip();
  if (!bpf) return;
  uint16_t port = 0;
  {
    const Pair pair;
    port = pair.port();
    CHECK(walk(*bpf, port).size() == 2);
    CHECK(walk(*bpf, port).empty());
    CHECK(walk(*bpf, port, true).size() == 2);
    pair.move(10);
    CHECK(walk(*bpf, port)[true].amounts.in_bytes == 10);
  }
  const auto none = [port](const net_record &like, const Traffic &) {
    const bool ours = like.ends.local_port == port || like.ends.remote_port == port;
    CHECK_FALSE(ours);  // a walk has met them
  };
  const auto report_ends = [&] {
    return reported([&](const Backend::Callback &take) { bpf->report_ends(take, none); }, NET_CLOSED, port);
  };
  auto ends = report_ends();
  REQUIRE(ends.size() == 2);
  CHECK(ends[true].amounts.in_bytes == 10);
  CHECK(ends[false].amounts.out_bytes == 10);
  CHECK(ends[true].owner.pid == ::getpid());
  CHECK((ends[true].flags & NET_REPORTED) != 0);
  CHECK(report_ends().empty());
  CHECK(walk(*bpf, port, true).empty());
}

TEST_CASE("more flows than the maps can hold are summed by process, and none is lost") {
  BackendOptions options;
  options.max_uses = 64;
  const auto bpf = bpf_or_skip(options);
  if (!bpf) return;
  constexpr uint64_t kPairs = 1000;
  for (uint64_t i = 0; i < kPairs; ++i) Pair().move(1);  // each to a port of its own
  Traffic told, nowhere;
  const auto count = [&](const net_record &like, const Traffic &together) {
    if (like.owner.pid != ::getpid()) return;
    told.add(together);
    const bool known = like.ends.local_port != 0 || like.ends.remote_port != 0;
    if (!known) nowhere.add(together);
  };
  bpf->report_ends([](const net_record &) {}, count);
  CHECK(told.connections == 2 * kPairs);
  CHECK(told.in_bytes == kPairs);
  CHECK(nowhere.connections > 0);
  CHECK(bpf->lost().records == 0);
}

TEST_CASE("connections between the same ends that come and go need room for one") {
  BackendOptions options;
  options.max_uses = 64;
  const auto bpf = bpf_or_skip(options);
  if (!bpf) return;
  const Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback();
  socklen_t size = sizeof(address);
  REQUIRE(::bind(server.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
  REQUIRE(::listen(server.get(), 1) == 0);
  REQUIRE(::getsockname(server.get(), reinterpret_cast<sockaddr *>(&address), &size) == 0);
  constexpr uint64_t kConnections = 500;
  for (uint64_t i = 0; i < kConnections; ++i) {
    const Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
    REQUIRE(::send(client.get(), "four", 4, 0) == 4);
    const Descriptor taken(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::array<char, 4> data{};
    REQUIRE(::recv(taken.get(), data.data(), data.size(), MSG_WAITALL) == 4);
  }
  Traffic in, out;
  const auto sum = [&](const net_record &like, const Traffic &together) {
    if (like.ends.local_port == ntohs(address.sin_port)) in.add(together);
    if (like.ends.remote_port == ntohs(address.sin_port)) out.add(together);
  };
  bpf->report_ends([](const net_record &) {}, sum);
  CHECK(in.connections == kConnections);
  CHECK(in.in_bytes == 4 * kConnections);
  CHECK(out.connections == kConnections);
  CHECK(out.out_bytes == 4 * kConnections);
  CHECK(bpf->lost().records == 0);
}

TEST_CASE("connections that end while walks continue are all known, each in one way") {
  const auto bpf = bpf_or_skip();
  if (!bpf) return;
  constexpr uint64_t kPairs = 2000;
  std::set<uint64_t> open, ended;
  uint64_t ends = 0;
  std::atomic<bool> done = false;
  std::thread maker([&] {
    for (uint64_t i = 0; i < kPairs; ++i) Pair().move(1);
    done = true;
  });
  const auto ours = [](const net_record &record) { return record.owner.pid == ::getpid(); };
  const auto opened = [&](const net_record &record) {
    if (record.kind == NET_OPEN && ours(record)) open.insert(record.cookie);
  };
  while (!done) bpf->walk(false, opened);
  maker.join();
  const auto count = [&](const net_record &like, const Traffic &together) { ends += ours(like) ? together.connections : 0; };
  const auto end = [&](const net_record &record) {
    if (!ours(record)) return;
    ++ends;
    ended.insert(record.cookie);
  };
  bpf->report_ends(end, count);
  CHECK(ends == 2 * kPairs);
  for (const uint64_t cookie : open) CHECK(ended.contains(cookie));
}

TEST_CASE("calls are counted by socket, and those of sockets without room too") {
  BackendOptions options;
  options.max_uses = 64;
  options.udp = true;
  const auto bpf = bpf_or_skip(options);
  if (!bpf) return;
  if (!bpf->limitation().empty()) {
    MESSAGE("calls are not counted here: skipped: " << bpf->limitation());
    return;
  }
  const Descriptor receiver(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback();
  socklen_t size = sizeof(address);
  REQUIRE(::bind(receiver.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
  REQUIRE(::getsockname(receiver.get(), reinterpret_cast<sockaddr *>(&address), &size) == 0);
  const std::array<char, 50> data{};
  for (int i = 0; i < 200; ++i) {
    const Descriptor sender(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(sender.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
    REQUIRE(::send(sender.get(), data.data(), data.size(), 0) == 50);
  }
  uint64_t counted = 0;
  bpf->report_uses([&](const net_use_key &, const net_use &use, bool is_last) {
    if (use.owner.pid == ::getpid() && is_last) counted += use.out_calls;
    return true;  // forget it
  });
  CHECK(counted > 0);
  CHECK(bpf->lost().calls > 0);
  CHECK(counted + bpf->lost().calls >= 200);
  uint64_t left = 0;
  bpf->report_uses([&](const net_use_key &, const net_use &use, bool) {
    if (use.owner.pid == ::getpid()) ++left;
    return false;
  });
  CHECK(left == 0);
}

using Address = std::array<uint8_t, 16>;

Address mapped(uint32_t host_order) {
  Address address{};
  address[10] = address[11] = 0xff;
  for (size_t i = 0; i < 4; ++i) address[12 + i] = static_cast<uint8_t>(host_order >> (24 - 8 * i));
  return address;
}

constexpr Address kNobody = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};

// A datagram socket on 127.0.0.1 or another address of the host; with a port it is bound.
class Datagrams {
 public:
  explicit Datagrams(int family = AF_INET) : socket_(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)), family_(family) {
    REQUIRE(socket_);
  }
  void bind(uint32_t host = INADDR_LOOPBACK, uint16_t port = 0) {
    sockaddr_in address = loopback(port);
    address.sin_addr.s_addr = htonl(host);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr *>(&address), size) == 0);
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr *>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ssize_t send_to(uint16_t port, size_t bytes, uint32_t host = INADDR_LOOPBACK) const {
    const std::vector<char> data(bytes);
    if (family_ == AF_INET6) {
      const Address target = mapped(host);
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(port);
      std::memcpy(&address.sin6_addr, target.data(), target.size());
      return ::sendto(socket_.get(), data.data(), bytes, 0, reinterpret_cast<const sockaddr *>(&address), sizeof(address));
    }
    sockaddr_in address = loopback(port);
    address.sin_addr.s_addr = htonl(host);
    return ::sendto(socket_.get(), data.data(), bytes, 0, reinterpret_cast<const sockaddr *>(&address), sizeof(address));
  }
  ssize_t receive_named(int flags = 0) const {
    std::array<char, 2000> data{};
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    return ::recvfrom(socket_.get(), data.data(), data.size(), flags, reinterpret_cast<sockaddr *>(&from), &size);
  }
  ssize_t receive() const {
    std::array<char, 2000> data{};
    return ::recv(socket_.get(), data.data(), data.size(), 0);
  }
  uint16_t port() const { return port_; }
  int fd() const { return socket_.get(); }
  uint64_t cookie() const {
    uint64_t cookie = 0;
    socklen_t size = sizeof(cookie);
    REQUIRE(::getsockopt(socket_.get(), SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0);
    return cookie;
  }

 private:
  Descriptor socket_;
  int family_;
  uint16_t port_ = 0;
};

uint16_t free_port() {
  Datagrams some;
  some.bind();
  return some.port();
}

struct Moved {
  uint64_t in = 0, out = 0, in_calls = 0, out_calls = 0;
  bool operator==(const Moved &) const = default;
};

// By peer's address and port.
std::map<std::pair<Address, uint16_t>, Moved> moved_by_peer(Backend &backend, const Datagrams &socket) {
  std::map<std::pair<Address, uint16_t>, Moved> peers;
  backend.report_ends([](const net_record &) {}, [](const net_record &, const Traffic &) {});  // empties the ring
  backend.report_uses([&](const net_use_key &key, const net_use &use, bool) {
    if (key.cookie != socket.cookie()) return false;
    Address address{};
    std::memcpy(address.data(), use.ends.remote, address.size());
    Moved &moved = peers[{address, use.ends.remote_port}];
    moved.in += use.in_bytes;
    moved.out += use.out_bytes;
    moved.in_calls += use.in_calls;
    moved.out_calls += use.out_calls;
    return false;
  });
  return peers;
}

// Counts calls with peers, if this host can.
std::unique_ptr<Backend> peers_or_skip(size_t uses = 65536, bool every_call = false) {
  BackendOptions options;
  options.udp = true;
  options.max_uses = uses;
  options.every_call = every_call;
  auto backend = bpf_or_skip(options);
  if (!backend || backend->limitation().empty()) return backend;
  MESSAGE("no BPF here: skipped: " << backend->limitation());
  return nullptr;
}

TEST_CASE("datagrams of an unconnected socket are counted by the peer of each call") {
  for (const bool every_call : {false, true}) {
    const auto bpf = peers_or_skip(65536, every_call);
    if (!bpf) return;
    Datagrams a, b, server;
    a.bind();
    b.bind(INADDR_LOOPBACK + 1);
    server.bind();
    const Datagrams four(AF_INET), six(AF_INET6);
    for (const Datagrams *client : {&four, &six}) {
      REQUIRE(client->send_to(a.port(), 10) == 10);
      REQUIRE(client->send_to(b.port(), 200, INADDR_LOOPBACK + 1) == 200);
      REQUIRE(client->send_to(a.port(), 30) == 30);
      REQUIRE(client->send_to(server.port(), 5) == 5);
    }
    const auto expected = std::map<std::pair<Address, uint16_t>, Moved>{{{mapped(INADDR_LOOPBACK), a.port()}, {0, 40, 0, 2}},
                                                                        {{mapped(INADDR_LOOPBACK + 1), b.port()}, {0, 200, 0, 1}},
                                                                        {{mapped(INADDR_LOOPBACK), server.port()}, {0, 5, 0, 1}}};
    CHECK(moved_by_peer(*bpf, four) == expected);
    CHECK(moved_by_peer(*bpf, six) == expected);
    // A peek is no receipt; a receiver that does not ask for the name does not know the peer.
    REQUIRE(server.receive_named(MSG_PEEK) == 5);
    REQUIRE(server.receive_named() == 5);
    REQUIRE(server.receive() == 5);
    auto taken = moved_by_peer(*bpf, server);
    REQUIRE(taken.size() == 2);
    CHECK(taken.begin()->first == std::pair(kNobody, uint16_t{0}));
    CHECK(taken.begin()->second == Moved{5, 0, 1, 0});
    CHECK(taken.rbegin()->first.first == mapped(INADDR_LOOPBACK));
    CHECK(taken.rbegin()->second == Moved{5, 0, 1, 0});
  }
}

TEST_CASE("a call that fails, and one that names another peer, leave no peer to the next call") {
  const auto bpf = peers_or_skip();
  if (!bpf) return;
  Datagrams a, b;
  a.bind();
  b.bind();
  const Datagrams client;
  sockaddr_in address = loopback(a.port());
  REQUIRE(::connect(client.fd(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
  CHECK(client.send_to(b.port(), 100'000) < 0);  // too long for a datagram
  REQUIRE(::send(client.fd(), "four", 4, 0) == 4);
  REQUIRE(client.send_to(b.port(), 7) == 7);
  REQUIRE(::send(client.fd(), "four", 4, 0) == 4);
  const auto moved = moved_by_peer(*bpf, client);
  CHECK(moved == std::map<std::pair<Address, uint16_t>, Moved>{{{mapped(INADDR_LOOPBACK), a.port()}, {0, 8, 0, 2}},
                                                               {{mapped(INADDR_LOOPBACK), b.port()}, {0, 7, 0, 1}}});
}

TEST_CASE("the ports of a server's clients are one peer by address") {
  const auto bpf = peers_or_skip();
  if (!bpf) return;
  Datagrams server;
  server.bind(INADDR_LOOPBACK, free_port());  // chosen by its program: a server
  for (size_t i = 0; i < 20; ++i) {
    const Datagrams client;
    REQUIRE(client.send_to(server.port(), 50) == 50);
    REQUIRE(server.receive_named() == 50);
  }
  const auto moved = moved_by_peer(*bpf, server);
  REQUIRE(moved.size() == 1);
  CHECK(moved.begin()->first.first == mapped(INADDR_LOOPBACK));
  CHECK(moved.begin()->second == Moved{1000, 0, 20, 0});
}

TEST_CASE("more peers than the map can hold: the sum over peers is the socket's") {
  for (const bool every_call : {false, true}) {
    const auto bpf = peers_or_skip(64, every_call);
    if (!bpf) return;
    const Datagrams client;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 300; ++i) {
      REQUIRE(client.send_to(9, 10 + i, INADDR_LOOPBACK + i) == 10 + i);
      bytes += 10 + i;
    }
    const auto moved = moved_by_peer(*bpf, client);
    CHECK(moved.size() <= 65);
    REQUIRE(moved.contains({Address{}, 0}));
    uint64_t sum = 0, calls = 0;
    for (const auto &[peer, one] : moved) {
      sum += one.out;
      calls += one.out_calls;
    }
    CHECK(sum == bytes);
    CHECK(calls == 300);
    CHECK(bpf->lost().calls == 0);
  }
}

TEST_CASE("threads that share a datagram socket do not exchange their peers") {
  const auto bpf = peers_or_skip();
  if (!bpf) return;
  const Datagrams client;
  constexpr uint32_t kThreads = 4;
  constexpr uint64_t kCalls = 2000;
  std::array<Datagrams, kThreads> peers;
  for (Datagrams &peer : peers) peer.bind();
  std::array<uint64_t, kThreads> sent{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (uint64_t call = 0; call < kCalls; ++call) sent[i] += client.send_to(peers[i].port(), i + 1) > 0 ? 1 : 0;
    });
  for (std::thread &thread : threads) thread.join();
  const auto moved = moved_by_peer(*bpf, client);
  CHECK(moved.size() == kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    const auto at = moved.find({mapped(INADDR_LOOPBACK), peers[i].port()});
    REQUIRE(at != moved.end());
    CHECK(at->second == Moved{0, sent[i] * (i + 1), 0, sent[i]});
  }
}

}  // namespace
}  // namespace atalaya::net
