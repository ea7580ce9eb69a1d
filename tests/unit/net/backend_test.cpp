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
#include "plugins/sources/net/diag_backend.h"

namespace atalaya::net {
namespace {

using core::Descriptor;

std::unique_ptr<Backend> bpf_or_skip(const BackendOptions &options = {}) {
  auto backend = open_bpf_backend(options);
  if (backend) return std::move(*backend);
  MESSAGE("no BPF here: skipped: " << backend.error());
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
std::map<bool, net_record> reported(const std::function<void(const Backend::Take &)> &report, uint32_t kind, uint16_t port) {
  std::map<bool, net_record> ends;
  report([&](const net_record &record) {
    if (record.kind != kind) return;
    if (record.ends.local_port == port) ends[true] = record;
    if (record.ends.remote_port == port) ends[false] = record;
  });
  return ends;
}

std::map<bool, net_record> walk(Backend &backend, uint16_t port, bool whole = false) {
  return reported([&](const Backend::Take &take) { backend.walk(whole, take); }, NET_OPEN, port);
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
  CHECK((kernel[true].flags & (NET_BORN | NET_INCOMING)) == (NET_BORN | NET_INCOMING));
  CHECK((kernel[false].flags & (NET_BORN | NET_OUTGOING)) == (NET_BORN | NET_OUTGOING));
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
  const auto take_ends = [&] { return reported([&](const Backend::Take &take) { bpf->take_ends(take, none); }, NET_CLOSED, port); };
  auto ends = take_ends();
  REQUIRE(ends.size() == 2);
  CHECK(ends[true].amounts.in_bytes == 10);
  CHECK(ends[false].amounts.out_bytes == 10);
  CHECK(ends[true].owner.pid == ::getpid());
  CHECK((ends[true].flags & NET_REPORTED) != 0);
  CHECK(take_ends().empty());
  CHECK(walk(*bpf, port, true).empty());
}

TEST_CASE("more flows than the maps can hold are summed by process, and none is lost") {
  BackendOptions options;
  options.uses = 64;
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
  bpf->take_ends([](const net_record &) {}, count);
  CHECK(told.connections == 2 * kPairs);
  CHECK(told.in_bytes == kPairs);
  CHECK(nowhere.connections > 0);
  CHECK(bpf->lost().records == 0);
}

TEST_CASE("connections between the same ends that come and go need room for one") {
  BackendOptions options;
  options.uses = 64;
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
  bpf->take_ends([](const net_record &) {}, sum);
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
  bpf->take_ends(end, count);
  CHECK(ends == 2 * kPairs);
  for (const uint64_t cookie : open) CHECK(ended.contains(cookie));
}

TEST_CASE("calls are counted by socket, and those of sockets without room too") {
  BackendOptions options;
  options.uses = 64;
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
  bpf->take_uses([&](const net_use_key &, const net_use &use, bool gone) {
    if (use.ends.remote_port == ntohs(address.sin_port) && gone) counted += use.out_calls;
    return true;  // forget it
  });
  CHECK(counted > 0);
  CHECK(bpf->lost().calls > 0);
  CHECK(counted + bpf->lost().calls >= 200);
  uint64_t left = 0;
  bpf->take_uses([&](const net_use_key &, const net_use &use, bool) {
    if (use.owner.pid == ::getpid()) ++left;
    return false;
  });
  CHECK(left == 0);
}

}  // namespace
}  // namespace atalaya::net
