// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/pairing.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/query/types.h"
#include "tests/unit/analysis/graph/flows.h"

namespace atalaya::graph::test {
namespace {

// "client>server forward/backward" of each link, "?" for an unknown peer, "~" for an estimate.
std::string shown(const std::vector<Flow> &flows, const Translations &translations = {}) {
  std::string text;
  for (const Link &link : paired(flows, translations)) {
    if (!text.empty()) text += "; ";
    text += link.client == kUnknown ? "?" : flows[link.client].process;
    text += '>';
    text += link.server == kUnknown ? "?" : flows[link.server].process;
    text += (link.estimated ? " ~" : " ") + std::to_string(std::lround(link.forward)) + "/" +
            std::to_string(std::lround(link.backward));
  }
  return text;
}

Flow udp(Flow flow, const char *netns = "") {
  flow.protocol = "udp";
  flow.netns = netns;
  return flow;
}

TEST_CASE("both ends of a connection between two hosts are one link") {
  CHECK(shown({opens("a", "client", "10.0.0.1", "10.0.0.2", "80", 1000, 50),
               takes("b", "server", "10.0.0.2", "10.0.0.1", "80", 50, 1000)}) == "client>server 1000/50");
  // The same address and port the other way round, or by another protocol, is something else.
  CHECK(shown({opens("a", "client", "10.0.0.1", "10.0.0.2", "80", 1000, 50),
               udp(takes("b", "server", "10.0.0.2", "10.0.0.1", "80", 50, 1000))}) == "client>? 1000/50; ?>server 1000/50");
}

TEST_CASE("bytes on their way when the time ended do not make a second peer") {
  CHECK(shown({opens("a", "client", "10.0.0.1", "10.0.0.2", "80", 1000, 0),
               takes("b", "server", "10.0.0.2", "10.0.0.1", "80", 0, 995)}) == "client>server 1000/0");
}

TEST_CASE("traffic that one end alone counted has no known peer") {
  CHECK(shown({opens("a", "client", "10.0.0.1", "10.0.0.2", "80", 400, 0),
               takes("b", "server", "10.0.0.2", "10.0.0.1", "80", 0, 1000)}) == "client>server 400/0; ?>server 600/0");
}

TEST_CASE("loopback is of one host and one network namespace") {
  const Flow client = opens("a", "client", "127.0.0.1", "127.0.0.1", "80", 10, 20);
  const Flow server = takes("a", "server", "127.0.0.1", "127.0.0.1", "80", 20, 10);
  Flow elsewhere = server;
  elsewhere.host = "b";
  Flow inside = server;
  inside.netns = "4026532281";
  CHECK(shown({client, server}) == "client>server 10/20");
  CHECK(shown({client, elsewhere}) == "client>? 10/20; ?>server 10/20");
  CHECK(shown({client, inside}) == "client>? 10/20; ?>server 10/20");
}

TEST_CASE("namespaces of one host meet by their addresses") {
  Flow inside = takes("a", "server", "172.17.0.2", "172.17.0.1", "80", 20, 10);
  inside.netns = "4026532281";
  CHECK(shown({opens("a", "client", "172.17.0.1", "172.17.0.2", "80", 10, 20), inside}) == "client>server 10/20");
}

TEST_CASE("equal private addresses of several hosts stay within each") {
  CHECK(shown({opens("a", "client", "172.17.0.1", "172.17.0.2", "80", 10, 20),
               takes("a", "server", "172.17.0.2", "172.17.0.1", "80", 20, 10),
               opens("b", "other client", "172.17.0.1", "172.17.0.2", "80", 300, 400),
               takes("b", "other server", "172.17.0.2", "172.17.0.1", "80", 400, 300)}) ==
        "client>server 10/20; other client>other server 300/400");
}

TEST_CASE("of merged connections to one server each client keeps its own") {
  CHECK(shown({opens("a", "one", "10.0.0.1", "10.0.0.2", "80", 100, 0), opens("a", "two", "10.0.0.1", "10.0.0.2", "80", 300, 8),
               takes("b", "server", "10.0.0.2", "10.0.0.1", "80", 8, 400)}) == "one>server 100/0; two>server 300/8");
}

TEST_CASE("several clients of several servers at one port are divided, and that is reported") {
  CHECK(shown({opens("a", "one", "10.0.0.1", "10.0.0.2", "80", 100, 0), opens("a", "two", "10.0.0.1", "10.0.0.2", "80", 300, 0),
               takes("b", "x", "10.0.0.2", "10.0.0.1", "80", 0, 200), takes("b", "y", "10.0.0.2", "10.0.0.1", "80", 0, 200)}) ==
        "one>x ~50/0; one>y ~50/0; two>x ~150/0; two>y ~150/0");
}

TEST_CASE("with both ports nothing needs to be divided, and a port that is used again is shared by time") {
  CHECK(shown({opens("a", "one", "10.0.0.1:50001", "10.0.0.2:80", "80", 100, 0),
               opens("a", "two", "10.0.0.1:50002", "10.0.0.2:80", "80", 300, 0),
               takes("b", "x", "10.0.0.2:80", "10.0.0.1:50002", "80", 0, 300),
               takes("b", "y", "10.0.0.2:80", "10.0.0.1:50001", "80", 0, 100)}) == "one>y 100/0; two>x 300/0");
  CHECK(shown({opens("a", "first", "10.0.0.1:50001", "10.0.0.2:80", "80", 100, 0),
               opens("a", "second", "10.0.0.1:50001", "10.0.0.2:80", "80", 30, 0),
               takes("b", "server", "10.0.0.2:80", "10.0.0.1:50001", "80", 0, 130)}) == "first>server 100/0; second>server 30/0");
}

TEST_CASE("a host that reports ports meets one that merges them") {
  CHECK(shown({opens("a", "client", "10.0.0.1:50001", "10.0.0.2:80", "80", 100, 0),
               takes("b", "server", "10.0.0.2", "10.0.0.1", "80", 0, 100)}) == "client>server 100/0");
}

TEST_CASE("a process that connects to itself is a link too") {
  CHECK(shown({opens("a", "self", "127.0.0.1", "127.0.0.1", "80", 10, 20),
               takes("a", "self", "127.0.0.1", "127.0.0.1", "80", 20, 10)}) == "self>self 10/20");
}

TEST_CASE("a datagram socket without peers serves all of its host's addresses") {
  Flow server = takes("b", "dns", "*", "*", "53", 500, 90);
  Flow one = opens("a", "one", "10.0.0.1", "10.0.0.2", "53", 50, 300),
       two = opens("b", "two", "127.0.0.1", "127.0.0.53", "53", 40, 200);
  const Flow known = takes("b", "sshd", "10.0.0.2", "10.0.0.9", "22", 0, 0);  // whose address 10.0.0.2 is
  for (Flow *flow : {&server, &one, &two}) flow->protocol = "udp";
  CHECK(shown({server, one, two, known}) == "one>dns 50/300; two>dns 40/200");
}

TEST_CASE("Unix sockets name each other by pid") {
  Flow one, two;
  one.host = two.host = "a";
  one.protocol = two.protocol = "unix";
  one.process = "one", one.pid = "10", one.remote = "pid:20", one.moved = {70, 5};
  two.process = "two", two.pid = "20", two.remote = "pid:10", two.moved = {5, 70};
  CHECK(shown({one, two}) == "one>two 70/5");
  two.host = "b";
  CHECK(shown({one, two}) == "one>? 70/5; two>? 5/70");
}

TEST_CASE("an inherited Unix socket is identified by the named process, and by the naming process") {
  const auto unix_flow = [](const char *process, const char *pid, const char *peer, double out, double in) {
    Flow flow;
    flow.host = "a";
    flow.protocol = "unix";
    flow.process = process, flow.pid = pid, flow.remote = std::string("pid:") + peer, flow.moved = {out, in};
    return flow;
  };
  // systemd listened, the bus answers.
  CHECK(shown({unix_flow("client", "900", "1", 70, 5), unix_flow("bus", "500", "900", 5, 70)}) == "client>bus 70/5");
  // A postmaster that serves others itself, and a backend of it.
  CHECK(shown({unix_flow("client", "900", "400", 70, 5), unix_flow("backend", "500", "900", 5, 70),
               unix_flow("other", "800", "400", 6, 2), unix_flow("postmaster", "400", "800", 2, 6)}) ==
        "postmaster>other 2/6; client>backend 70/5");
  // With two names in the time: both flows have moved the traffic of the one at the other end.
  CHECK(shown({unix_flow("sh", "10", "20", 30, 0), unix_flow("worker", "10", "20", 70, 0), unix_flow("log", "20", "10", 0, 100)}) ==
        "sh>log 30/0; worker>log 70/0");
}

TEST_CASE("the remainder of a flow meets its other ends in another way") {
  Translations translations;
  add_translations("tcp 6 9 ESTABLISHED src=10.0.0.1 dst=10.96.0.7 sport=5 dport=80 src=10.1.0.3 dst=10.0.0.1 sport=8080 dport=5",
                   translations);
  CHECK(shown({opens("a", "direct", "10.0.0.1", "10.1.0.3", "8080", 10, 0),
               opens("a", "by name", "10.0.0.1", "10.96.0.7", "80", 1000, 0),
               takes("b", "server", "10.1.0.3", "10.0.0.1", "8080", 0, 1010)},
              translations) == "direct>server 10/0; by name>server 1000/0");
}

TEST_CASE("a surplus that several flows saw over their other end is divided by estimate") {
  CHECK(shown({opens("a", "one", "10.0.0.1", "10.0.0.2", "80", 600, 0), opens("a", "two", "10.0.0.1", "10.0.0.2", "80", 400, 0),
               takes("b", "server", "10.0.0.2", "10.0.0.1", "80", 0, 400)}) ==
        "one>server ~240/0; two>server ~160/0; one>? ~360/0; two>? ~240/0");
}

TEST_CASE("datagram servers are distinguished by address and network namespace, and the own host comes first") {
  const Flow dnsmasq = udp(takes("b", "dnsmasq", "10.0.0.2", "*", "53", 300, 50));
  const Flow resolved = udp(takes("b", "resolved", "127.0.0.53", "*", "53", 200, 40));
  const Flow one = udp(opens("a", "one", "10.0.0.1", "10.0.0.2", "53", 50, 300));
  const Flow two = udp(opens("b", "two", "127.0.0.1", "127.0.0.53", "53", 40, 200));
  CHECK(shown({dnsmasq, resolved, one, two}) == "one>dnsmasq 50/300; two>resolved 40/200");
  const Flow contained = udp(takes("b", "contained", "*", "*", "53", 200, 40), "4026532281");
  CHECK(shown({contained, two}) == "?>contained 40/200; two>? 40/200");
  // An address that two hosts have.
  const Flow near = udp(takes("b", "near", "172.17.0.2", "*", "53", 7, 9)),
             far = udp(takes("a", "far", "172.17.0.2", "*", "53", 7, 9));
  CHECK(shown({near, far, udp(opens("b", "client", "172.17.0.1", "172.17.0.2", "53", 9, 7))}) == "client>near 9/7; ?>far 9/7");
}

TEST_CASE("unconnected datagram sockets on both sides name each other's address") {
  // The sshd of each host shows whose address it is.
  const Flow a = takes("a", "sshd of a", "10.0.0.1", "10.0.0.9", "22", 0, 0),
             b = takes("b", "sshd of b", "10.0.0.2", "10.0.0.9", "22", 0, 0);
  const Flow one = udp(opens("a", "one", "*", "10.0.0.2", "53", 50, 300)),
             two = udp(opens("b", "two", "*", "10.0.0.2", "53", 40, 200));
  CHECK(shown({one, two, udp(takes("b", "dns", "*", "10.0.0.1", "53", 300, 50)),
               udp(takes("b", "dns", "*", "10.0.0.2", "53", 200, 40)), a, b}) == "one>dns 50/300; two>dns 40/200");
  // Two servers of one port: each counts its own clients, and nothing is divided.
  CHECK(shown({one, two, udp(takes("b", "dns", "10.0.0.2", "10.0.0.1", "53", 300, 50)),
               udp(takes("b", "dns too", "10.0.0.2", "10.0.0.2", "53", 200, 40)), a, b}) == "one>dns 50/300; two>dns too 40/200");
  // Loopback needs no known address.
  CHECK(shown({udp(opens("a", "client", "*", "127.0.0.1", "53", 5, 6)), udp(takes("a", "dns", "*", "127.0.0.1", "53", 6, 5))}) ==
        "client>dns 5/6");
}

TEST_CASE("with all ports, datagram sockets of one address are distinguished by the client's port") {
  const Flow one = udp(opens("a", "one", "*:1000", "127.0.0.1:53", "53", 50, 10)),
             two = udp(opens("a", "two", "*:2000", "127.0.0.1:53", "53", 50, 20));
  CHECK(shown({one, two, udp(takes("a", "x", "*:53", "127.0.0.1:2000", "53", 20, 50)),
               udp(takes("a", "y", "*:53", "127.0.0.1:1000", "53", 10, 50))}) == "one>y 50/10; two>x 50/20");
}

TEST_CASE("datagrams that are received without the sender's address are from a server that was asked") {
  const Flow asks = udp(opens("a", "client", "*", "127.0.0.1", "53", 50, 0));
  Flow hears = udp(opens("a", "client", "*", "*", "", 0, 300));
  CHECK(shown({asks, hears, udp(takes("a", "dns", "*", "127.0.0.1", "53", 300, 50))}) == "client>dns 50/0; client>dns 0/300");
  // The server does not ask for the sender either, and answers it by name.
  CHECK(shown({asks, hears, udp(takes("a", "dns", "*", "*", "53", 0, 50)),
               udp(takes("a", "dns", "*", "127.0.0.1", "53", 300, 0))}) == "client>dns 50/0; client>dns 0/300");
  // Nobody was asked.
  hears.process = hears.pid = "other";
  CHECK(shown({asks, hears, udp(takes("a", "dns", "*", "127.0.0.1", "53", 300, 50))}) ==
        "client>dns 50/0; other>? 0/300; ?>dns 0/300");
}

// Conversations with both ends known, and the flows that the hosts report of them.
class Conversations {
 public:
  explicit Conversations(uint32_t seed) : random_(seed) {
    for (size_t host = 0; host < kHosts; ++host) {
      flows_.push_back(takes(name(host), "sshd", address(host), "10.0.0.9", "22", 0, 0));  // whose address it is
      for (size_t i = 0; i < kServers; ++i) anywhere_.push_back(chance());
    }
    for (size_t client = 0; client < kHosts * kClients; ++client)
      for (size_t server = 0; server < anywhere_.size(); ++server)
        if (chance()) talk(client, server);
  }
  std::vector<Flow> flows() const {
    std::vector<Flow> all = flows_;
    for (const auto &[key, flow] : servers_) all.push_back(flow);
    return all;
  }
  const std::map<std::pair<std::string, std::string>, std::pair<double, double>> &truth() const { return truth_; }

 private:
  static constexpr size_t kHosts = 3, kServers = 2, kClients = 3;

  static std::string name(size_t host) { return "host" + std::to_string(host); }
  static std::string address(size_t host) { return "10.0.0." + std::to_string(host + 1); }
  // No conversation is within the tolerance of 1 % of another one.
  double amount() { return static_cast<double>(1000 + random_() % 1000); }
  bool chance() { return random_() % 2 == 0; }

  void talk(size_t client, size_t server) {
    const size_t from = client / kClients, to = server / kServers;
    const bool loopback = from == to && anywhere_[server] && chance();
    const std::string source = loopback ? "127.0.0.1" : address(from), target = loopback ? "127.0.0.1" : address(to);
    const std::string port = std::to_string(5000 + server), asks = "client" + std::to_string(client), answers = "server" + port;
    const double out = amount(), in = chance() ? amount() : 0;
    flows_.push_back(udp(opens(name(from), asks, chance() ? source : "*", target, port, out, in)));
    Flow &served =
        servers_.try_emplace({server, source}, udp(takes(name(to), answers, anywhere_[server] ? "*" : target, source, port, 0, 0)))
            .first->second;
    served.moved.out += in;
    served.moved.in += out;
    auto &moved = truth_[{asks, answers}];
    moved.first += out;
    moved.second += in;
  }

  std::mt19937 random_;
  std::vector<bool> anywhere_;  // by server: bound to all addresses
  std::vector<Flow> flows_;
  std::map<std::pair<size_t, std::string>, Flow> servers_;  // by client's address: the ports of clients are merged
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> truth_;
};

TEST_CASE("datagram conversations are paired exactly, each byte once, whoever is connected or bound") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Conversations all(seed);
    const std::vector<Flow> flows = all.flows();
    std::map<std::pair<std::string, std::string>, std::pair<double, double>> found;
    for (const Link &link : paired(flows, {})) {
      CHECK_FALSE(link.estimated);
      REQUIRE(link.client != kUnknown);
      REQUIRE(link.server != kUnknown);
      auto &moved = found[{flows[link.client].process, flows[link.server].process}];
      moved.first += std::round(link.forward);
      moved.second += std::round(link.backward);
    }
    CHECK(found == all.truth());
  }
}

TEST_CASE("a client in a place of its own is paired by the server's address, and a server by its client's") {
  const Flow ssh = takes("b", "sshd", "10.0.0.2", "10.0.0.9", "22", 0, 0);
  const Flow inside = udp(opens("a", "inside", "*", "10.0.0.2", "53", 50, 300), "4026532281");
  CHECK(shown({inside, udp(takes("b", "dns", "*", "172.17.0.5", "53", 300, 50)), ssh}) == "inside>dns 50/300");
  // The server's address is not known: its client's is.
  const Flow client = takes("a", "sshd", "10.0.0.1", "10.0.0.9", "22", 0, 0);
  const Flow asks = udp(opens("a", "asks", "*", "10.0.0.7", "53", 50, 300));
  CHECK(shown({asks, udp(takes("c", "dns", "*", "10.0.0.1", "53", 300, 50), "4026532999"), client}) == "asks>dns 50/300");
  // But not if the server has been found to be another's.
  const Flow known = udp(opens("a", "known", "*", "10.0.0.2", "53", 40, 300));
  CHECK(shown({asks, known, udp(takes("b", "dns", "*", "10.0.0.1", "53", 310, 40)), client, ssh}) ==
        "known>dns 40/300; asks>? 50/300; ?>dns 0/10");
}

TEST_CASE("a service's address is translated to the answering process") {
  Translations translations;
  add_translations(
      "ipv4     2 tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.96.0.7 sport=51000 dport=80 src=10.1.0.3 dst=10.0.0.1 "
      "sport=8080 "
      "dport=51000 [ASSURED] mark=0 use=1\n"
      "ipv4     2 tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=51001 dport=22 src=10.0.0.2 dst=10.0.0.1 sport=22 "
      "dport=51001 [ASSURED] mark=0 use=1\n",
      translations);
  CHECK(translations.size() == 1);
  CHECK(shown({opens("a", "client", "10.0.0.1", "10.96.0.7", "80", 10, 20),
               takes("b", "server", "10.1.0.3", "10.0.0.1", "8080", 20, 10)},
              translations) == "client>server 10/20");
}

TEST_CASE("clients of a service with several servers are divided by estimate, and exactly where ports are reported") {
  const Service service{"tcp", "10.0.0.1", "10.96.0.7", "80"};
  Translations translations;
  for (const char *server : {"10.1.0.3", "10.1.0.4"}) add_translation(service, {"tcp", "10.0.0.1", server, "8080"}, translations);
  CHECK(shown({opens("a", "one", "10.0.0.1", "10.96.0.7", "80", 300, 0), opens("a", "two", "10.0.0.1", "10.96.0.7", "80", 100, 0),
               takes("b", "x", "10.1.0.3", "10.0.0.1", "8080", 0, 300), takes("c", "y", "10.1.0.4", "10.0.0.1", "8080", 0, 100)},
              translations) == "one>x ~225/0; one>y ~75/0; two>x ~75/0; two>y ~25/0");
  CHECK(shown({opens("a", "one", "10.0.0.1:1000", "10.96.0.7:80", "80", 300, 0),
               opens("a", "two", "10.0.0.1:2000", "10.96.0.7:80", "80", 100, 0),
               takes("b", "x", "10.1.0.3:8080", "10.0.0.1:1000", "8080", 0, 300),
               takes("c", "y", "10.1.0.4:8080", "10.0.0.1:2000", "8080", 0, 100)},
              translations) == "one>x 300/0; two>y 100/0");
  // A client's port that was translated as well.
  CHECK(shown({opens("a", "one", "10.0.0.1:1000", "10.96.0.7:80", "80", 300, 0),
               takes("b", "x", "10.1.0.3:8080", "10.0.0.1:4000", "8080", 0, 300)},
              translations) == "one>x 300/0");
}

TEST_CASE("datagrams to a translated address, of sockets that are not connected") {
  const Flow shell = takes("a", "sshd", "10.0.0.1", "10.0.0.9", "22", 0, 0);
  const Flow web = takes("b", "web", "172.17.0.2", "10.0.0.9", "80", 0, 0);
  Translations translations;
  add_translation({"udp", "10.0.0.1", "10.0.0.2", "5353"}, {"udp", "10.0.0.1", "172.17.0.2", "53"}, translations);
  const Flow asks = udp(opens("a", "asks", "*", "10.0.0.2", "5353", 50, 300));
  CHECK(shown({asks, udp(takes("b", "dns", "*", "10.0.0.1", "53", 300, 50)), shell, web}, translations) == "asks>dns 50/300");
  // A server in another place has another address.
  CHECK(shown({asks, udp(takes("b", "dns", "*", "10.0.0.1", "53", 300, 50), "4026532281"), shell, web}, translations) ==
        "asks>? 50/300; ?>dns 50/300");
}

TEST_CASE("addresses of IPv6 in the kernel's table are those of flows") {
  Translations translations;
  add_translations(
      "ipv6     10 tcp      6 9 ESTABLISHED src=2001:0db8:0000:0000:0000:0000:0000:0009 "
      "dst=2001:0db8:0000:0000:0000:0000:0000:0001 sport=5 dport=80 src=2001:0db8:0000:0000:0000:0000:0000:0002 "
      "dst=2001:0db8:0000:0000:0000:0000:0000:0009 sport=8080 dport=5\n",
      translations);
  CHECK(shown({opens("a", "client", "2001:db8::9", "2001:db8::1", "80", 10, 20),
               takes("b", "server", "2001:db8::2", "2001:db8::9", "8080", 20, 10)},
              translations) == "client>server 10/20");
}

TEST_CASE("lines that are cut or foreign translate nothing") {
  Translations translations;
  CHECK(add_translations("", translations) == 0);
  CHECK(add_translations("\n\nsrc=1.2.3.4 dst=\ntcp src=1.1.1.1 dst=2.2.2.2 sport=1 dport=2 src=3.3.3.3", translations) == 0);
  CHECK(add_translations("root:x:0:0:root:/root:/bin/bash\n", translations) == 0);
  add_translations("icmp 1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1 src=10.0.0.2 dst=10.0.0.9 type=0 code=0 id=1",
                   translations);
  CHECK(translations.empty());
}

TEST_CASE("addresses with ports, and without") {
  CHECK(endpoint_of("10.0.0.1:80").port == "80");
  CHECK(endpoint_of("10.0.0.1").port.empty());
  CHECK(endpoint_of("[fe80::1]:80").address == "fe80::1");
  CHECK(endpoint_of("fe80::1").address == "fe80::1");
  CHECK(endpoint_of("*:53").address == "*");
  CHECK(endpoint_of("[::1").address == "[::1");
  CHECK(endpoint_of("").address.empty());
}

TEST_CASE("more flows than can be paired end with the fix") {
  std::vector<Flow> flows;
  flows.reserve(2200);
  for (int i = 0; i < 1100; ++i) {
    flows.push_back(opens("a", "client" + std::to_string(i), "10.0.0.1", "10.0.0.2", "80", 1, 1));
    flows.push_back(takes("b", "server" + std::to_string(i), "10.0.0.2", "10.0.0.1", "80", 1, 1));
  }
  CHECK_THROWS_WITH_AS(
      paired(flows),
      "1100 clients of 1100 servers of one port are too many to be paired; narrow the query with --tag or a shorter time range",
      query::TooMuch);
}

}  // namespace
}  // namespace atalaya::graph::test
