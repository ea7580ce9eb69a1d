// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/drawing/circle.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/graph/drawing/colours.h"
#include "plugins/shared/analysis/graph/drawing/text.h"
#include "plugins/shared/analysis/graph/edges.h"

namespace atalaya::graph {
namespace {

// Pixels.
constexpr double kMinRadius = 150, kArc = 30, kNameRoom = 250, kHead = 44, kFoot = 30;
constexpr double kSmallest = 4, kBiggest = 14, kThinLine = 1, kThickLine = 6, kThinEdge = 1, kThickEdge = 16;
constexpr size_t kMaxNameLength = 30;
constexpr double kHostGap = 0.6;  // in multiples of a node's arc

struct Spot {
  size_t node = 0;
  double angle = 0, x = 0, y = 0;
};

double between(double value, double maximum, double low, double high) {
  return maximum <= 0 ? low : low + (high - low) * std::clamp(value / maximum, 0.0, 1.0);
}

class Circle {
 public:
  Circle(const Graph &graph, double min_share) : graph_(graph), edges_(edges_of(graph, min_share)) {
    std::set<size_t> nodes;
    for (const auto &[ends, bytes] : edges_.drawn) nodes.insert({ends.first, ends.second});
    for (const size_t node : nodes) spots_.push_back({node});
    std::stable_sort(spots_.begin(), spots_.end(), [&](const Spot &a, const Spot &b) { return key(a) < key(b); });
    place();
  }

  std::string draw(const std::string &title) {
    const auto size = static_cast<int>(std::lround(2 * centre()));
    out_ = command_line::svg_head(size, size + static_cast<int>(kHead + kFoot)) + "<text x=\"14\" y=\"24\" font-size=\"15\">" +
           command_line::xml_text(title) + "</text>\n";
    for (const auto &[ends, bytes] : edges_.drawn) edge(ends.first, ends.second, bytes);
    for (const Spot &spot : spots_) node(spot);
    out_ += "<text x=\"14\" y=\"" + short_number(2 * centre() + kHead + 12, 0) + "\" fill=\"#555\">" +
            command_line::xml_text(legend()) + "</text>\n";
    return out_ + "</svg>\n";
  }

 private:
  // Sorts nodes by host; addresses outside of known hosts come last.
  std::pair<bool, std::string> key(const Spot &spot) const {
    const Node &node = graph_.nodes[spot.node];
    return {node.outside, node.host};
  }
  double centre() const { return radius_ + kNameRoom; }

  void place() {
    double arcs = 0;
    std::vector<double> starts;
    for (size_t i = 0; i < spots_.size(); ++i) {
      if (i > 0 && key(spots_[i]) != key(spots_[i - 1])) arcs += kHostGap;
      starts.push_back(arcs);
      arcs += 1;
      most_.cpu = std::max(most_.cpu, graph_.nodes[spots_[i].node].used.cpu);
      most_.memory = std::max(most_.memory, graph_.nodes[spots_[i].node].used.memory);
    }
    arcs += kHostGap;
    radius_ = std::max(kMinRadius, arcs * kArc / (2 * std::numbers::pi));
    at_.assign(graph_.nodes.size(), 0);
    for (size_t i = 0; i < spots_.size(); ++i) {
      Spot &spot = spots_[i];
      spot.angle = 2 * std::numbers::pi * starts[i] / arcs - std::numbers::pi / 2;
      spot.x = centre() + radius_ * std::cos(spot.angle);
      spot.y = kHead + centre() + radius_ * std::sin(spot.angle);
      at_[spot.node] = i;
    }
  }

  std::string full_name(const Node &node) const {
    std::string name = node.name + (node.pid.empty() ? "" : " " + node.pid);
    return node.host.empty() || graph_.by == By::host ? name : node.host + " " + name;
  }

  double bytes_to(size_t from, size_t to) const {
    const auto found = graph_.bytes.find({from, to});
    return found == graph_.bytes.end() ? 0 : found->second;
  }

  void edge(size_t a, size_t b, double bytes) {
    const Spot &from = spots_[at_[a]], &to = spots_[at_[b]];
    const Node &one = graph_.nodes[a], &other = graph_.nodes[b];
    const std::string x = short_number(centre(), 1), y = short_number(kHead + centre(), 1);
    out_ += "<path d=\"M" + short_number(from.x, 1) + " " + short_number(from.y, 1);
    if (a == b) {  // a loop, drawn outside the circle
      const double reach = radius_ + 46, turn = 0.12;
      for (const double side : {-turn, turn})
        out_ += (side < 0 ? " C" : " ") + short_number(centre() + reach * std::cos(from.angle + side), 1) + " " +
                short_number(kHead + centre() + reach * std::sin(from.angle + side), 1);
      out_ += " " + short_number(to.x, 1) + " " + short_number(to.y, 1);
    } else {
      out_ += " Q" + x + " " + y + " " + short_number(to.x, 1) + " " + short_number(to.y, 1);
    }
    out_ += "\" fill=\"none\" stroke-linecap=\"round\" stroke-opacity=\"0.65\" stroke=\"" + colour_of(one.command, other.command) +
            "\" stroke-width=\"" + short_number(between(bytes, edges_.largest, kThinEdge, kThickEdge), 1) + "\"><title>" +
            command_line::xml_text(full_name(one) + " to " + full_name(other) + ": " + bytes_text(bytes_to(a, b)) +
                                   (a == b ? "" : "; back: " + bytes_text(bytes_to(b, a)))) +
            "</title></path>\n";
  }

  void node(const Spot &spot) {
    const Node &node = graph_.nodes[spot.node];
    const double size = between(node.used.memory, most_.memory, kSmallest, kBiggest);
    const double line = between(node.used.cpu, most_.cpu, kThinLine, kThickLine);
    std::string about = full_name(node);
    if (node.used.known) about += ": " + short_number(node.used.cpu, 2) + " cores, " + bytes_text(node.used.memory * 1024 * 1024);
    out_ += "<g><title>" + command_line::xml_text(about) + "</title><circle cx=\"" + short_number(spot.x, 1) + "\" cy=\"" +
            short_number(spot.y, 1) + "\" r=\"" + short_number(size, 1) + "\" class=\"paper\" fill=\"white\" stroke=\"" +
            (node.outside ? "#555555" : colour_of(node.command)) + "\" stroke-width=\"" + short_number(line, 1) + "\"" +
            (node.outside ? " stroke-dasharray=\"3 2\"" : "") + "/>";
    // Draws the label outside the circle, never upside down.
    const bool left = std::cos(spot.angle) < 0;
    const double away = radius_ + size + line + 6, degrees = spot.angle * 180 / std::numbers::pi + (left ? 180 : 0);
    const std::string x = short_number(centre() + away * std::cos(spot.angle), 1);
    const std::string y = short_number(kHead + centre() + away * std::sin(spot.angle), 1);
    out_ += "<text x=\"" + x + "\" y=\"" + y + "\" dominant-baseline=\"central\" text-anchor=\"" + (left ? "end" : "start") +
            "\" transform=\"rotate(" + short_number(degrees, 1) + " " + x + " " + y + ")\">" +
            command_line::xml_text(core::cut_to_width(core::visible(full_name(node)), kMaxNameLength)) + "</text></g>\n";
  }

  std::string legend() const {
    if (edges_.drawn.empty()) return "no traffic";
    std::string text = "edge: bytes both ways, up to " + bytes_text(edges_.largest);
    if (most_.memory > 0) text += "; size: memory, up to " + bytes_text(most_.memory * 1024 * 1024);
    if (most_.cpu > 0) text += "; line: CPU, up to " + short_number(most_.cpu, 2) + " cores";
    if (edges_.hidden > 0)
      text += "; " + std::to_string(edges_.hidden) + " smaller edges with " + bytes_text(edges_.hidden_bytes) + " omitted";
    return text;
  }

  const Graph &graph_;
  const Edges edges_;
  std::vector<Spot> spots_;
  std::vector<size_t> at_;  // by node: its position on the circle
  Resources most_;
  double radius_ = kMinRadius;
  std::string out_;
};

}  // namespace

std::string as_circle(const Graph &graph, double min_share, const std::string &title) {
  return Circle(graph, min_share).draw(title);
}

}  // namespace atalaya::graph
