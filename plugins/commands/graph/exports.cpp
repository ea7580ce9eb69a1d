// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/graph/exports.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"

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

// Rounds to an integer: the decimals of estimates have no meaning.
int64_t whole(double bytes) {
  return std::llround(bytes);
}

void add_node(core::JsonObject &object, const Node &node) {
  object.key("name").text(node.name);
  object.text("host", node.host);
  object.text("pid", node.pid);
  if (node.outside) object.flag("outside", true);
  if (!node.used.known) return;
  object.key("cpu").number(node.used.cpu);
  object.key("memory").number(node.used.memory);
}

void add_matrix(core::JsonObject &all, const Matrix &matrix, core::JsonWriter &out) {
  core::JsonObject object(all.key("matrix"));
  object.texts("names", matrix.names);
  object.list("bytes", matrix.bytes, [&](const auto &row) {
    out.list();
    for (const double bytes : row) out.integer(whole(bytes));
    out.end_list();
  });
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
  if (!value.empty()) out += std::string("<data key=\"") + key + "\">" + command_line::xml_text(value) + "</data>";
}

}  // namespace

std::string as_json(const Graph &graph, const Matrix &matrix, const query::Range &range) {
  core::JsonWriter out;
  {
    core::JsonObject all(out);
    all.key("by").text(name_of(graph.by));
    all.key("from").milliseconds(range.from_ns);
    all.key("to").milliseconds(range.to_ns);
    all.key("bytes").integer(whole(graph.total));
    all.key("estimated").integer(whole(graph.estimated));
    all.objects("nodes", graph.nodes, add_node);
    all.objects("edges", graph.bytes, [](core::JsonObject &edge, const auto &ends_and_bytes) {
      const auto &[ends, bytes] = ends_and_bytes;
      edge.count("from", ends.first);
      edge.count("to", ends.second);
      edge.key("bytes").integer(whole(bytes));
    });
    add_matrix(all, matrix, out);
  }
  return out.take() + '\n';
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
           " MERGE (a)-[s:SENT]->(b) SET s.bytes = " + std::to_string(whole(bytes)) + ";\n";
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
    add_data(out, "bytes", std::to_string(whole(bytes)));
    out += "</edge>\n";
  }
  return out + "</graph>\n</graphml>\n";
}

}  // namespace atalaya::graph
