// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/graph.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/graph/drawing/matrix.h"
#include "plugins/shared/analysis/graph/read.h"
#include "tests/unit/analysis/graph/flows.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::graph::test {
namespace {

// Two hosts: workers that query the database of the other one, and a client from outside.
std::vector<Flow> example() {
  std::vector<Flow> flows = {opens("a", "worker", "10.0.0.1", "10.0.0.2", "9042", 10, 1000),
                             takes("b", "database", "10.0.0.2", "10.0.0.1", "9042", 1000, 10),
                             opens("b", "worker", "127.0.0.1", "127.0.0.1", "9042", 5, 400),
                             takes("b", "database", "127.0.0.1", "127.0.0.1", "9042", 400, 5),
                             takes("a", "worker", "10.0.0.1", "192.0.2.7", "80", 70, 3),
                             opens("a", "worker", "10.0.0.1", "2001:db8::9", "443", 2, 6),
                             opens("a", "worker", "10.0.0.1", "10.0.0.2", "22", 1, 1)};
  flows[0].container = "spark";
  flows[1].container = "cassandra";
  return flows;
}

Graph graph_by(By by, const std::vector<Worker> &workers = {}) {
  const std::vector<Flow> flows = example();
  return graph_of(flows, paired(flows), workers, by);
}

std::string shown(const Graph &graph) {
  std::string text;
  for (const auto &[ends, bytes] : graph.bytes)
    text += label_of(graph, graph.nodes[ends.first]) + ">" + label_of(graph, graph.nodes[ends.second]) + " " +
            std::to_string(static_cast<int>(bytes)) + "\n";
  return text;
}

TEST_CASE("by host: traffic between hosts, within a host, and to the outside") {
  const Graph graph = graph_by(By::host);
  CHECK(shown(graph) == "a>b 11\na>192.0.2.7 70\na>2001:db8::9 2\nb>a 1001\nb>b 405\n192.0.2.7>a 3\n2001:db8::9>a 6\n");
  CHECK(graph.total == 1498);
}

TEST_CASE("by command hosts are merged, and a service outside has its port") {
  CHECK(shown(graph_by(By::command)) ==
        "database>worker 1400\nunattributed>worker 1\nworker>database 15\nworker>unattributed 1\nworker>192.0.2.7 70\n"
        "worker>[2001:db8::9]:443 2\n192.0.2.7>worker 3\n[2001:db8::9]:443>worker 6\n");
}

TEST_CASE("by container those without one are processes") {
  CHECK(
      shown(graph_by(By::container)) ==
      "a spark>b cassandra 10\na worker>b unattributed 1\na worker>192.0.2.7 70\na worker>[2001:db8::9]:443 2\n"
      "b cassandra>a spark 1000\nb database>b worker 400\nb unattributed>a worker 1\nb worker>b database 5\n192.0.2.7>a worker 3\n"
      "[2001:db8::9]:443>a worker 6\n");
}

TEST_CASE("by process nodes have their resources") {
  const Graph graph = graph_by(By::process, {{"a", "6", "worker", "", "", {0.5, 100, true}},
                                             {"b", "6", "worker", "", "", {0.25, 30, true}},
                                             {"b", "99", "silent", "", "", {4, 4000, true}}});
  REQUIRE(graph.nodes.size() == 6);
  CHECK(graph.nodes[0].used.cpu == 0.5);
  CHECK(graph.nodes[0].used.memory == 100);
  CHECK_FALSE(graph.nodes[1].used.known);
  CHECK(label_of(graph, graph.nodes[0]) == "a worker 6");
  for (const Node &node : graph.nodes) CHECK(node.name != "silent");
}

TEST_CASE("traffic to a private address of the same host does not leave it") {
  const std::vector<Flow> flows = {opens("a", "client", "172.17.0.1", "172.17.0.2", "80", 10, 20),
                                   takes("a", "other", "172.17.0.2", "172.17.0.9", "90", 0, 1),
                                   takes("b", "other", "172.17.0.2", "172.17.0.9", "90", 0, 2)};
  CHECK(shown(graph_of(flows, paired(flows), {}, By::host)) == "a>a 30\n172.17.0.9>a 1\n172.17.0.9>b 2\n");
}

TEST_CASE("a container and a process of one name are two nodes") {
  std::vector<Flow> flows = {opens("a", "redis", "10.0.0.1", "10.0.0.2", "80", 10, 0),
                             opens("a", "redis", "10.0.0.1", "10.0.0.3", "80", 20, 0)};
  flows[1].pid = "77";
  flows[1].container = "redis";
  const Graph graph = graph_of(flows, paired(flows), {{"a", "77", "redis", "", "", {1, 100, true}}}, By::container);
  REQUIRE(graph.nodes.size() == 4);
  CHECK_FALSE(graph.nodes[0].contained);
  CHECK_FALSE(graph.nodes[0].used.known);
  CHECK(graph.nodes[1].contained);
  CHECK(graph.nodes[1].used.cpu == 1);  // its samples have no tag container, its flows have
}

TEST_CASE("samples meet flows by pid, with any other tags") {
  const std::vector<Flow> flows = {opens("a", "java", "10.0.0.1", "10.0.0.2", "80", 10, 0)};
  const Graph graph = graph_of(flows, paired(flows), {{"a", "4", "java", "", "java -jar x", {1, 100, true}}}, By::command);
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].name == "java");
  CHECK(graph.nodes[0].used.memory == 100);
}

TEST_CASE("replicas have the colour of their program") {
  std::vector<Flow> flows = {opens("a", "java", "10.0.0.1", "10.0.0.2", "80", 10, 0),
                             opens("a", "sh", "10.0.0.1", "10.0.0.2", "80", 1, 0)};
  for (Flow &flow : flows) flow.container = "worker-1";
  const Graph graph = graph_of(flows, paired(flows), {}, By::container);
  CHECK(graph.nodes[0].name == "worker-1");
  CHECK(graph.nodes[0].command == "java");
}

TEST_CASE("the matrix has the largest by name, and the rest together") {
  const Matrix matrix = matrix_of(graph_by(By::host), 2);
  REQUIRE(matrix.names == std::vector<std::string>{"a", "b", "others"});
  CHECK(matrix.bytes == std::vector<std::vector<double>>{{0, 11, 72}, {1001, 405, 0}, {9, 0, 0}});
  CHECK(matrix.maximum == 1001);
  CHECK(matrix_of(graph_by(By::host), 4).names.back() == "2001:db8::9");
  CHECK(matrix_of(Graph{}, 5).names.empty());
}

TEST_CASE("flows and workers are read from a store") {
  query::test::MemoryStore store;
  store.always_collected = false;
  const query::Tags tags = {{"host", "a"},       {"pid", "7"},
                            {"process", "java"}, {"local", "10.0.0.1:50000"},
                            {"direction", "in"}, {"remote", "[fe80::1]:4"},
                            {"port", "80"},      {"protocol", "tcp"},
                            {"container", "web"}};
  store.add("flow.in.bytes", tags, {{1, 100}, {2, 50}, {3, 1}});
  store.add("flow.out.bytes", tags, {{2, 9}});
  store.add("proc.cpu.user", {{"host", "a"}, {"pid", "7"}, {"process", "java"}}, {{1, 100}, {2, 50}});
  store.add("proc.mem.resident", {{"host", "a"}, {"pid", "7"}, {"process", "java"}}, {{1, 100}, {2, 200}});
  store.add("proc.mem.resident", {{"host", "b"}, {"pid", "8"}, {"process", "late"}}, {{2, 300}});
  const query::Range range{query::test::kT0, query::test::kT0 + 2 * query::test::kSecond};
  query::Budget budget({});
  const auto flows = read_flows({}, range, store, budget);
  REQUIRE(flows.size() == 1);
  CHECK(flows[0].moved.in == 150);
  CHECK(flows[0].moved.out == 9);
  CHECK(flows[0].other_port == "4");
  CHECK(flows[0].client() == "fe80::1");
  CHECK(flows[0].server() == "10.0.0.1");
  CHECK(flows[0].container == "web");
  const auto workers = read_workers(range, store, budget);
  REQUIRE(workers.size() == 2);
  CHECK(workers[0].used.cpu == 0.75);
  CHECK(workers[0].used.memory == 150);
  CHECK(workers[1].used.memory == 300);  // its host reported the second half only
}

// Traffic of a fork of `pid`: both ends, window by window as source net reports it.
void add_flow(query::test::MemoryStore &store, query::Tags tags, const char *process, const char *pid, const char *way,
              const query::test::Values &out, const query::test::Values &in) {
  const bool opened = std::string(way) == "out";
  for (const auto &[key, value] : {std::pair{"process", process}, {"pid", pid}, {"direction", way}, {"host", "a"}})
    tags[key] = value;
  tags["protocol"] = "tcp";
  tags["port"] = "8765";
  tags["local"] = tags["remote"] = "127.0.0.1";
  tags[opened ? "remote" : "local"] += ":8765";
  store.add("flow.out.bytes", tags, out);
  store.add("flow.in.bytes", tags, in);
}

TEST_CASE("a process with a new name after its first window is one, by the name last reported") {
  query::test::MemoryStore store;
  add_flow(store, {}, "python3", "31748", "in", {{1, 198}}, {{1, 4}});
  add_flow(store, {{"container", "web"}}, "http.server", "31748", "in", {{2, 201}}, {{2, 5}});
  add_flow(store, {}, "curl", "32386", "out", {{1, 4}}, {{1, 198}});
  add_flow(store, {}, "curl", "32485", "out", {{2, 5}}, {{2, 201}});
  add_flow(store, {}, "sum of some", "", "out", {{2, 0}}, {{2, 0}});
  store.add("proc.cpu.user", {{"host", "a"}, {"pid", "31748"}, {"process", "python3"}}, {{1, 100}});
  store.add("proc.cpu.user", {{"host", "a"}, {"pid", "31748"}, {"process", "http.server"}}, {{2, 50}});
  const query::Range range{query::test::kT0, query::test::kT0 + 2 * query::test::kSecond};
  query::Budget budget({});
  const auto flows = read_flows({}, range, store, budget);
  const auto workers = read_workers(range, store, budget);
  const Graph graph = graph_of(flows, paired(flows), workers, By::process);
  CHECK(shown(graph) ==
        "a curl 32386>a http.server 31748 4\na curl 32485>a http.server 31748 5\n"
        "a http.server 31748>a curl 32386 198\na http.server 31748>a curl 32485 201\n");
  CHECK(graph.total == 408);
  CHECK(graph.estimated == 0);
  const auto server = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node &node) { return node.pid == "31748"; });
  CHECK(server->used.cpu == 0.75);
  const Graph contained = graph_of(flows, paired(flows), workers, By::container);
  CHECK(shown(contained) == "a curl>a web 9\na web>a curl 399\n");
}

TEST_CASE("an agent that was unreachable makes no average smaller") {
  query::test::MemoryStore store;
  store.always_collected = false;
  const query::Tags one = {{"host", "a"}, {"pid", "7"}, {"process", "java"}},
                    other = {{"host", "a"}, {"pid", "8"}, {"process", "sh"}};
  store.add("proc.mem.resident", one, {{1, 100}, {3, 100}, {58, 100}, {60, 100}});
  store.add("proc.cpu.user", one, {{3, 100}, {60, 100}});  // idle in the others, and left out by a filter
  store.add("proc.mem.resident", other, {{60, 40}});
  store.add("sys.mem.total", {{"host", "a"}}, {{1, 8000}, {2, 8000}, {3, 8000}, {58, 8000}, {59, 8000}, {60, 8000}});
  query::Budget budget({});
  const auto workers = read_workers({query::test::kT0, query::test::kT0 + 60 * query::test::kSecond}, store, budget);
  REQUIRE(workers.size() == 2);
  CHECK(workers[0].used.memory == doctest::Approx(400.0 / 6));
  CHECK(workers[0].used.cpu == doctest::Approx(2.0 / 6));
  CHECK(workers[1].used.memory == doctest::Approx(40.0 / 6));
}

}  // namespace
}  // namespace atalaya::graph::test
