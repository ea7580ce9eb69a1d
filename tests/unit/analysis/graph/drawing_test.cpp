// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "plugins/commands/graph/dot.h"
#include "plugins/commands/graph/exports.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/graph/drawing/heat_map.h"
#include "plugins/shared/analysis/graph/drawing/matrix.h"
#include "plugins/shared/analysis/graph/graph.h"

namespace atalaya::graph {
namespace {

const std::string kHostile = "a\"'\\<&>\n";

Node node(const char *name, const Resources &used) {
  return {"h", name, name, "", false, false, used};
}

// Three nodes: one has all the memory and half of the CPU, one half and all, of one nothing is known.
Graph example() {
  Graph graph;
  graph.nodes = {node("large", {1, 4096, true}), node("busy", {2, 2048, true}), node("silent", {})};
  graph.bytes = {{{0, 1}, 3000}, {{1, 0}, 1000}, {{0, 2}, 1000}};
  graph.total = 5000;
  return graph;
}

// The line of `text` that begins with `start`, without spaces before it.
std::string line_of(const std::string &text, const std::string &start) {
  const size_t begin = text.find(" " + start);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin + 1, text.find('\n', begin) - begin - 1);
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("height is memory, the line CPU, and the width of an edge bytes both ways") {
  const Drawing drawing = as_dot(example(), 0);
  const std::string large = line_of(drawing.text, "n0 ["), busy = line_of(drawing.text, "n1 ["),
                    silent = line_of(drawing.text, "n2 [");
  CHECK(has(large, " height=2.40 penwidth=4.50 "));
  CHECK(has(large, "tooltip=\"large: 1.00 cores, 4.0 GiB\""));
  CHECK(has(busy, " height=1.40 penwidth=8.00 "));
  CHECK(has(silent, " height=0.40 penwidth=1.00 "));
  CHECK(has(silent, "tooltip=\"silent\""));
  CHECK(has(line_of(drawing.text, "n0 -- n1"), "penwidth=14.00"));
  CHECK(has(line_of(drawing.text, "n0 -- n2"), "penwidth=4.25"));
  CHECK(has(line_of(drawing.text, "n0 -- n2"), R"(label="1000 B\n ")"));
}

TEST_CASE("edges with a small share are left out, with the nodes that only they touch") {
  const Drawing drawing = as_dot(example(), 0.5);
  CHECK(drawing.shown == 1);
  CHECK(drawing.hidden == 1);
  CHECK(drawing.hidden_bytes == 1000);
  CHECK_FALSE(has(drawing.text, "n2"));
}

TEST_CASE("names are only names, in every format") {
  Graph graph = example();
  graph.nodes[0].name = kHostile;
  CHECK(has(as_dot(graph, 0).text, R"(n0 [label="a\"'\\<&>\\x0a")"));
  CHECK(has(as_cypher(graph), R"(name: 'a"\'\\<&>\\x0a')"));
  CHECK(has(as_graphml(graph), "<data key=\"name\">a&quot;'\\&lt;&amp;&gt;"));
  CHECK(has(as_json(graph, matrix_of(graph, 9), {0, 1}), R"({"name":"a\"'\\<&>\n","host":"h")"));
  const std::string picture = as_svg(matrix_of(graph, 9), "Traffic");
  CHECK(has(picture, "h a&quot;'\\&lt;&amp;&gt;"));
  CHECK_FALSE(has(picture, "<&>"));
}

TEST_CASE("bytes are whole ones for programs") {
  Graph graph = example();
  graph.bytes = {{{0, 1}, 41.462420382165604}, {{1, 0}, 1e6}};
  graph.total = graph.estimated = 1000041.462420382165604;
  const std::string json = as_json(graph, matrix_of(graph, 9), {0, 1});
  CHECK(has(json, "\"bytes\":1000041,\"estimated\":1000041,"));
  CHECK(has(json, R"({"from":0,"to":1,"bytes":41})"));
  CHECK(has(json, "[[0,41,0],"));
  CHECK(has(as_cypher(graph), "SET s.bytes = 41;"));
  CHECK(has(as_graphml(graph), "<data key=\"bytes\">1000000</data>"));
}

TEST_CASE("a question that is too large is answered with options that its command has") {
  const std::string message = "more than 3 points" + std::string(query::kAskForLess);
  CHECK(command_line::advised(message, query::kAskForLess) == message);
  CHECK(command_line::advised(message, command_line::kAskForLessTime) ==
        "more than 3 points; narrow the query with --tag or a shorter time range, or raise --max-points and --timeout");
  CHECK(command_line::advised("2001 are more", command_line::kAskForLessTime) == "2001 are more");
}

TEST_CASE("a time has a resolution of one second") {
  constexpr int64_t kTime = 1'700'000'000'895'658'614;
  CHECK(command_line::span_text({kTime, kTime + 60'000'000'000}) == "2023-11-14 22:13:20 to 2023-11-14 22:14:20 UTC");
  CHECK(command_line::span_text({kTime, kTime + 1'000'000}) ==
        "2023-11-14 22:13:20.895658614 to 2023-11-14 22:13:20.896658614 UTC");
}

TEST_CASE("a long name of control characters is cut to its visible part") {
  Graph graph = example();
  graph.nodes[0].name = std::string(40, '\x01');
  CHECK(line_of(as_dot(graph, 0).text, "n0 [").find(" height") < 120);
}

}  // namespace
}  // namespace atalaya::graph
