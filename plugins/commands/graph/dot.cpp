// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/graph/dot.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/graph/drawing/colours.h"
#include "plugins/shared/analysis/graph/drawing/text.h"
#include "plugins/shared/analysis/graph/edges.h"

namespace atalaya::graph {
namespace {

// Heights in inches and widths in points of the value 0, and of the largest value of the drawing.
constexpr double kLowest = 0.4, kHighest = 2.4, kThinnest = 1, kThickestNode = 8, kThickestEdge = 14;
constexpr size_t kWidestNode = 40;

using Ends = std::pair<size_t, size_t>;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : core::visible(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// A line break in a label is the two characters \n, which quoted() would escape.
std::string label(const std::vector<std::string> &lines) {
  std::string out;
  for (const std::string &line : lines) {
    const std::string one = quoted(core::cut_to_width(core::visible(line), kWidestNode));
    out += (out.empty() ? "\"" : "\\n") + one.substr(1, one.size() - 2);
  }
  return out + '"';
}

double scaled(double value, double most, double low, double high) {
  return most <= 0 ? low : low + (high - low) * value / most;
}

class Dot {
 public:
  Dot(const Graph &graph, double min_share) : graph_(graph), edges_(edges_of(graph, min_share)) {
    drawing_ = {"", edges_.drawn.size(), edges_.hidden, edges_.hidden_bytes, edges_.largest};
    for (const auto &[ends, bytes] : edges_.drawn)
      for (const size_t node : {ends.first, ends.second}) by_host_[graph.nodes[node].host].push_back(node);
    for (auto &[host, nodes] : by_host_) {
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      for (const size_t node : nodes) {
        most_.cpu = std::max(most_.cpu, graph.nodes[node].used.cpu);
        most_.memory = std::max(most_.memory, graph.nodes[node].used.memory);
      }
    }
  }

  Drawing draw() {
    out_ = "graph traffic {\n  graph [fontname=\"sans-serif\" fontsize=11 labelloc=b rankdir=LR label=" + quoted(legend()) +
           "];\n  node [shape=box fontname=\"sans-serif\" fontsize=10];\n  edge [fontname=\"sans-serif\" fontsize=9];\n";
    size_t cluster = 0;
    for (const auto &[host, nodes] : by_host_) {
      const bool inside = !host.empty() && graph_.by != By::host;
      if (inside)
        out_ += "  subgraph cluster_" + std::to_string(cluster++) + " {\n    label=" + quoted(host) + ";\n    color=\"#888888\";\n";
      for (const size_t node : nodes) add_node(node, inside ? "    " : "  ");
      if (inside) out_ += "  }\n";
    }
    for (const auto &[ends, bytes] : edges_.drawn) add_edge(ends, bytes);
    drawing_.text = out_ + "}\n";
    return drawing_;
  }

 private:
  std::string legend() const {
    std::string text = "edge: bytes both ways, up to " + bytes_text(drawing_.largest);
    if (most_.memory > 0) text += "; height: memory, up to " + bytes_text(most_.memory * 1024 * 1024);
    if (most_.cpu > 0) text += "; line: CPU, up to " + short_number(most_.cpu, 2) + " cores";
    return text;
  }

  static std::string used_text(const Resources &used) {
    if (!used.known) return "";
    return ": " + short_number(used.cpu, 2) + " cores, " + bytes_text(used.memory * 1024 * 1024);
  }

  static std::string name(size_t node) { return "n" + std::to_string(node); }

  void add_node(size_t index, const char *indent) {
    const Node &node = graph_.nodes[index];
    std::vector<std::string> lines = {node.name};
    if (!node.pid.empty()) lines.push_back("pid " + node.pid);
    out_ += indent + name(index) + " [label=" + label(lines);
    if (node.outside) {
      out_ += " shape=ellipse style=dashed color=\"#555555\"];\n";
      return;
    }
    out_ += " height=" + short_number(scaled(node.used.memory, most_.memory, kLowest, kHighest), 2) +
            " penwidth=" + short_number(scaled(node.used.cpu, most_.cpu, kThinnest, kThickestNode), 2) + " color=\"" +
            colour_of(node.command) + "\" tooltip=" + quoted(node.name + used_text(node.used)) + "];\n";
  }

  // The empty line separates the label from a thick edge.
  void add_edge(const Ends &ends, double bytes) {
    const Node &a = graph_.nodes[ends.first], &b = graph_.nodes[ends.second];
    out_ += "  " + name(ends.first) + " -- " + name(ends.second) +
            " [penwidth=" + short_number(scaled(bytes, drawing_.largest, kThinnest, kThickestEdge), 2) + " color=\"" +
            colour_of(a.command, b.command) + "\" label=" + label({bytes_text(bytes), " "}) + "];\n";
  }

  const Graph &graph_;
  const Edges edges_;
  std::map<std::string, std::vector<size_t>> by_host_;
  Resources most_;
  Drawing drawing_;
  std::string out_;
};

}  // namespace

Drawing as_dot(const Graph &graph, double min_share) {
  return Dot(graph, min_share).draw();
}

}  // namespace atalaya::graph
