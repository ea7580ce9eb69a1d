// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/graph/exports.h"

#include <cmath>

#include "core/base/json.h"
#include "core/base/safe_text.h"
#include "plugins/shared/analysis/query/render.h"

namespace atalaya::graph {
namespace {

const char *name_of(By by) {
  switch (by) {
    case By::process:
      return "process";
    case By::command:
      return "command";
    case By::container:
      return "container";
    case By::host:
      break;
  }
  return "host";
}

const char *kind_of(const Graph &graph, const Node &node) {
  if (node.outside) return "Peer";
  switch (graph.by) {
    case By::process:
      return "Process";
    case By::command:
      return "Command";
    case By::container:
      return node.contained ? "Container" : "Process";
    case By::host:
      break;
  }
  return "Host";
}

std::string number(double value) {
  std::string text;
  core::append_number(text, value);
  return text;
}

// Whole numbers: the decimals of estimates have no meaning.
std::string whole(double bytes) {
  return std::to_string(std::llround(bytes));
}

void add_text(std::string &out, const char *key, std::string_view value) {
  out += key;
  core::append_json_string(out, value);
}

std::string cypher_text(std::string_view text) {
  std::string out = "'";
  for (const char c : core::visible(text)) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

void add_data(std::string &out, const char *key, const std::string &value) {
  if (!value.empty()) out += std::string("<data key=\"") + key + "\">" + query::xml_text(value) + "</data>";
}

}  // namespace

std::string as_json(const Graph &graph, const Matrix &matrix, const query::Range &range) {
  std::string out = std::string("{\"by\":\"") + name_of(graph.by) + "\",\"from\":" + std::to_string(range.from_ns / 1'000'000) +
                    ",\"to\":" + std::to_string(range.to_ns / 1'000'000) + ",\"bytes\":" + whole(graph.total) +
                    ",\"estimated\":" + whole(graph.estimated) + ",\n\"nodes\":[";
  for (const Node &node : graph.nodes) {
    if (&node != graph.nodes.data()) out += ",\n";
    add_text(out, "{\"name\":", node.name);
    if (!node.host.empty()) add_text(out, ",\"host\":", node.host);
    if (!node.pid.empty()) add_text(out, ",\"pid\":", node.pid);
    if (node.outside) out += ",\"outside\":true";
    if (node.used.known) out += ",\"cpu\":" + number(node.used.cpu) + ",\"memory\":" + number(node.used.memory);
    out += '}';
  }
  out += "],\n\"edges\":[";
  const char *comma = "";
  for (const auto &[ends, bytes] : graph.bytes) {
    out += comma + ("{\"from\":" + std::to_string(ends.first)) + ",\"to\":" + std::to_string(ends.second) +
           ",\"bytes\":" + whole(bytes) + "}";
    comma = ",\n";
  }
  out += "],\n\"matrix\":{\"names\":[";
  for (size_t i = 0; i < matrix.names.size(); ++i) add_text(out, i == 0 ? "" : ",", matrix.names[i]);
  out += "],\"bytes\":[";
  for (size_t from = 0; from < matrix.bytes.size(); ++from) {
    out += from == 0 ? "[" : ",\n[";
    for (size_t to = 0; to < matrix.bytes.size(); ++to) out += (to == 0 ? "" : ",") + whole(matrix.bytes[from][to]);
    out += ']';
  }
  return out + "]}}\n";
}

std::string as_cypher(const Graph &graph) {
  std::string out;
  const auto pattern = [&](const char *variable, const Node &node) {
    return std::string("(") + variable + ":" + kind_of(graph, node) + " {host: " + cypher_text(node.host) +
           ", name: " + cypher_text(node.name) + ", pid: " + cypher_text(node.pid) + "})";
  };
  for (const Node &node : graph.nodes) {
    out += "MERGE " + pattern("n", node);
    if (node.used.known) out += " SET n.cpu = " + number(node.used.cpu) + ", n.memory = " + number(node.used.memory);
    out += ";\n";
  }
  for (const auto &[ends, bytes] : graph.bytes)
    out += "MATCH " + pattern("a", graph.nodes[ends.first]) + ", " + pattern("b", graph.nodes[ends.second]) +
           " MERGE (a)-[s:SENT]->(b) SET s.bytes = " + whole(bytes) + ";\n";
  return out;
}

std::string as_graphml(const Graph &graph) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const char *key : {"kind", "host", "name", "pid"})
    out += std::string("<key id=\"") + key + "\" for=\"node\" attr.name=\"" + key + "\" attr.type=\"string\"/>\n";
  for (const char *key : {"cpu", "memory"})
    out += std::string("<key id=\"") + key + "\" for=\"node\" attr.name=\"" + key + "\" attr.type=\"double\"/>\n";
  out += "<key id=\"bytes\" for=\"edge\" attr.name=\"bytes\" attr.type=\"long\"/>\n<graph edgedefault=\"directed\">\n";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    out += "<node id=\"n" + std::to_string(i) + "\">";
    add_data(out, "kind", kind_of(graph, node));
    add_data(out, "host", node.host);
    add_data(out, "name", node.name);
    add_data(out, "pid", node.pid);
    if (node.used.known) {
      add_data(out, "cpu", number(node.used.cpu));
      add_data(out, "memory", number(node.used.memory));
    }
    out += "</node>\n";
  }
  for (const auto &[ends, bytes] : graph.bytes) {
    out += "<edge source=\"n" + std::to_string(ends.first) + "\" target=\"n" + std::to_string(ends.second) + "\">";
    add_data(out, "bytes", whole(bytes));
    out += "</edge>\n";
  }
  return out + "</graph>\n</graphml>\n";
}

}  // namespace atalaya::graph
