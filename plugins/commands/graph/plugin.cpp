// SPDX-License-Identifier: Apache-2.0
// Command graph: traffic between processes, commands, containers or hosts.
#include <atalaya/plugin.hpp>

#include <array>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/text/text.h"
#include "plugins/commands/graph/dot.h"
#include "plugins/commands/graph/exports.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/graph/drawing/circle.h"
#include "plugins/shared/analysis/graph/drawing/heat_map.h"
#include "plugins/shared/analysis/graph/drawing/text.h"
#include "plugins/shared/analysis/graph/params.h"
#include "plugins/shared/analysis/graph/read.h"

namespace atalaya::graph {
namespace {

using namespace atalaya::literals;

class GraphCommand final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::listed(
          param::choice("by", "process|command|container|host", "Entity of a node; command: all processes of one name on all hosts")
              .defaults("process"),
          param::choice(
              "format", "matrix|svg|circle|dot|json|cypher|graphml",
              "matrix: table of senders and receivers; svg: the matrix as an image; circle: the nodes and their traffic as an "
              "image; dot: drawing for Graphviz; "
              "cypher, graphml: input of graph databases")
              .defaults("matrix"),
          param::string("min_share", "dot, circle: minimum share of all bytes of a drawn edge").defaults("10%").unit("SHARE"),
          param::integer("top", "Maximum rows of the matrix, by traffic; the others are summed").defaults("20").range(1, 1000),
          command_line::kTag),
      command_line::kWindowParams, command_line::listed(kConntrack), command_line::kStoreParams);
  static constexpr Description description = {.name = "graph"_str,
                                              .summary = "Show the traffic between processes, containers or hosts"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya graph --by host\n"
                                                  "atalaya graph --by command --from -10m --format dot | dot -Tsvg -o a.svg\n"
                                                  "atalaya graph --by container --format json"_str};

  explicit GraphCommand(Host host)
      : read_(command_line::read_options(host)),
        by_(*parse_by(host.text("by"))),
        format_(host.text("format")),
        min_share_(command_line::with_failures([&] { return share_of("--min-share", host.text("min_share")); })),
        top_(static_cast<size_t>(host.integer("top"))),
        translations_(read_translations(host)),
        tags_(command_line::read_tags(host)) {}

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures(
        [&] {
          command_line::Reading reading(read_);
          const std::vector<Flow> flows = read_flows(tags_, reading.range, *reading.store, reading.budget);
          if (flows.empty()) {
            command_line::report_no_points("flows", reading.range);
            std::fputs("source net collects them (pipelines/network.lua)\n", stderr);
          }
          Translations translations = translations_;
          add_reported_translations(reading.range, *reading.store, reading.budget, translations);
          const Graph graph =
              graph_of(flows, paired(flows, translations), read_workers(reading.range, *reading.store, reading.budget), by_);
          if (graph.estimated > 0)
            std::fprintf(stderr,
                         "%s of %s are estimates, because several clients and servers use one port; ports = \"all\" of source net "
                         "separates them\n",
                         bytes_text(graph.estimated).c_str(), bytes_text(graph.total).c_str());
          command_line::write_output("-", text_of(graph, reading.range));
          return 0;
        },
        command_line::kAskForLessTime);
  }

 private:
  std::string text_of(const Graph &graph, const query::Range &range) const {
    if (format_ == "dot") return drawing_of(graph);
    if (format_ == "circle") return as_circle(graph, min_share_, "Traffic from " + command_line::span_text(range));
    if (format_ == "json") return as_json(graph, matrix_of(graph, top_), range);
    if (format_ == "cypher") return as_cypher(graph);
    if (format_ == "graphml") return as_graphml(graph);
    if (format_ == "svg") return as_svg(matrix_of(graph, top_), "Traffic from " + command_line::span_text(range));
    return as_text(matrix_of(graph, top_));
  }

  std::string drawing_of(const Graph &graph) const {
    const Drawing drawing = as_dot(graph, min_share_);
    if (drawing.hidden > 0)
      std::fprintf(
          stderr, "%zu edges drawn; %zu edges with %s of %s omitted, each below %s%% (--min-share)%s\n", drawing.shown,
          drawing.hidden, bytes_text(drawing.hidden_bytes).c_str(), bytes_text(graph.total).c_str(),
          short_number(min_share_ * 100, 1).c_str(),
          drawing.shown > 0 ? "" : ("; the largest has " + short_number(100 * drawing.largest / graph.total, 2) + "%").c_str());
    return drawing.text;
  }

  const command_line::ReadOptions read_;
  const By by_;
  const std::string format_;
  const double min_share_;
  const size_t top_;
  const Translations translations_;
  const std::vector<store::TagFilter> tags_;
};

}  // namespace
}  // namespace atalaya::graph

ATALAYA_PLUGIN("graph", "0.1.0", "command graph", atalaya::graph::GraphCommand)
