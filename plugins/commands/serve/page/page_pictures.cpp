// SPDX-License-Identifier: Apache-2.0
// Flame graphs and traffic, drawn by the renderers of the commands.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/commands/serve/page/page_stacks.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/flamegraph/differences.h"
#include "plugins/shared/analysis/flamegraph/peers.h"
#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/stored.h"
#include "plugins/shared/analysis/graph/drawing/circle.h"
#include "plugins/shared/analysis/graph/drawing/heat_map.h"
#include "plugins/shared/analysis/graph/drawing/matrix.h"
#include "plugins/shared/analysis/graph/params.h"
#include "plugins/shared/analysis/graph/read.h"
#include "plugins/shared/analysis/jobs/read/stage_stacks.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

using flamegraph::Side;

constexpr size_t kMaxFrames = 10'000;                // maximum frames of a flame graph
constexpr size_t kMaxNodes = 400, kMaxEdges = 2000;  // maximum nodes and edges of a graph

// The range to compare with; nothing without diff_from.
std::optional<query::Range> compared_range(const PageCall &call) {
  const std::string from = call.request.text("diff_from"), to = call.request.text("diff_to");
  if (from.empty() && to.empty()) return std::nullopt;
  if (from.empty() || to.empty()) throw query::Wrong("diff_from and diff_to belong together");
  const query::Range range{query::time_of("diff_from", from, call.now_ns), query::time_of("diff_to", to, call.now_ns)};
  if (range.from_ns >= range.to_ns) throw query::Wrong("diff_from is not before diff_to");
  return range;
}

flamegraph::Style page_style(const PageCall &call, const flamegraph::Wanted &wanted, const query::Range &range,
                             const std::optional<query::Range> &before) {
  flamegraph::Style style;
  style.self_contained = false;
  style.frames = kMaxFrames;
  style.width = static_cast<int>(page_count(call.request, "width", 1200, 300, 10'000));
  style.icicle = call.request.flag("icicle");
  style.compared = before.has_value();
  if (wanted.counts_time()) style.unit = flamegraph::Unit::nanoseconds;
  style.title = wanted.profile == "offcpu" ? "Waiting time by call stack" : "Time by call stack";
  style.subtitle = command_line::span_text(range) + (before ? ", compared with " + command_line::span_text(*before) : "");
  return style;
}

struct Traffic {
  query::Range range;
  graph::Graph graph;
};

Traffic read_traffic(PageCall &call) {
  const query::Range range = call.range();
  const auto by = graph::parse_by(page_choice(call.request, "by", {"process", "command", "container", "host"}));
  const auto flows = graph::read_flows(page_filters(call.request), range, call.store, call.budget);
  graph::Translations translations = graph::own_translations();
  graph::add_reported_translations(range, call.store, call.budget, translations);
  const auto links = graph::paired(flows, translations);
  return {range, graph::graph_of(flows, links, graph::read_workers(range, call.store, call.budget), *by)};
}

double page_share(const Request &request) {
  const std::string text = request.text("min_share");
  if (text.empty()) return 0.01;
  return graph::share_of("min_share", text);
}

void write_nodes(core::JsonWriter &json, const graph::Graph &graph) {
  json.key("nodes").list();
  for (size_t i = 0; i < std::min(graph.nodes.size(), kMaxNodes); ++i) {
    const graph::Node &node = graph.nodes[i];
    json.object().key("host").text_or_null(node.host).key("name").text(node.name).key("command").text_or_null(node.command);
    json.key("pid").text_or_null(node.pid).key("outside").boolean(node.outside);
    json.key("cpu").number(node.used.known ? std::optional(node.used.cpu) : std::nullopt);
    json.key("memory").number(node.used.known ? std::optional(node.used.memory) : std::nullopt).end_object();
  }
  json.end_list();
}

// The largest first.
void write_edges(core::JsonWriter &json, const graph::Graph &graph) {
  std::vector<std::pair<double, std::pair<size_t, size_t>>> edges;
  for (const auto &[ends, bytes] : graph.bytes)
    if (ends.first < kMaxNodes && ends.second < kMaxNodes) edges.emplace_back(-bytes, ends);
  std::sort(edges.begin(), edges.end());
  edges.resize(std::min(edges.size(), kMaxEdges));
  json.key("edges").list();
  for (const auto &[negative, ends] : edges) {
    json.object().key("from").count(ends.first).key("to").count(ends.second).key("bytes").number(-negative).end_object();
  }
  json.end_list();
}

std::vector<std::pair<double, std::string>> largest_groups(const flamegraph::Tree &tree) {
  std::vector<std::pair<double, std::string>> groups;
  for (const uint32_t child : tree.children(0)) groups.emplace_back(tree.node(child).shown(), tree.name(child));
  std::stable_sort(groups.begin(), groups.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  return groups;
}

struct Drawn {
  flamegraph::Tree tree;
  std::string subtitle, empty;  // of the picture; reason why there is no picture
  std::string differences;      // text with one function per line
};

// The slow tasks of a stage, compared with the middle half of its tasks.
void draw_stage(PageCall &call, const std::string &stage, const flamegraph::Wanted &wanted, Drawn &drawn) {
  const jobs::ComparedTasks tasks = jobs::stage_tasks(stage, call.request.text("job"), call.store, call.range(), call.budget);
  drawn.subtitle = jobs::text_of(tasks, stage);
  if (tasks.slow.empty()) {
    drawn.empty = drawn.subtitle;
    return;
  }
  const flamegraph::Values parts = jobs::add_stage(drawn.tree, tasks, call.store, wanted, call.budget);
  drawn.tree.finish();
  if (parts[0] == 0 || parts[1] == 0)
    drawn.empty = drawn.subtitle + ", but they have no stacks; the source perf tags them with tasks = true";
  else
    drawn.differences = flamegraph::text_of(flamegraph::differences(drawn.tree, wanted.group_depth(), parts, !wanted.counts_time()),
                                            wanted.counts_time() ? flamegraph::Unit::nanoseconds : flamegraph::Unit::samples);
}

void draw_range(PageCall &call, const std::optional<query::Range> &before, const flamegraph::Wanted &wanted, Drawn &drawn) {
  const query::Range range = call.range();
  const std::string task = call.request.text("task"), keep = page_choice(call.request, "keep", {"all", "jvm", "app", "kernel"});
  if (task.empty())
    flamegraph::add_stored(drawn.tree, Side::shown, call.store, wanted, range, call.budget);
  else
    flamegraph::add_task(drawn.tree, task, call.store, wanted, range, call.budget);
  if (before) flamegraph::add_stored(drawn.tree, Side::before, call.store, wanted, *before, call.budget);
  if (keep != "all") flamegraph::filter_class(drawn.tree, flamegraph::Classes(drawn.tree, wanted.group_depth()), keep);
  drawn.tree.finish();
  if (drawn.tree.root().shown() != 0) return;
  drawn.empty = task.empty() ? "no stacks" + flamegraph::reason_for_no_stacks(call.store, wanted, range, call.budget)
                             : "no stacks of task " + task + "; the source perf tags them with tasks = true";
}

}  // namespace

flamegraph::Wanted read_stacks_wanted(const Request &request) {
  flamegraph::Wanted wanted;
  wanted.tags = page_filters(request);
  wanted.profile = page_choice(request, "profile", {"cpu", "offcpu", "wall", "waker"});
  wanted.by = flamegraph::parse_by(page_choice(request, "by", {"process", "name", "host", "reason", "owner"}));
  return wanted;
}

std::string page_flamegraph(PageCall &call) {
  flamegraph::Wanted wanted = read_stacks_wanted(call.request);
  const std::string stage = call.request.text("slow_stage");
  const auto before = compared_range(call);
  flamegraph::Style style = page_style(call, wanted, call.range(), before);
  Drawn drawn;
  if (wanted.by == flamegraph::By::owner) wanted.owner_name = flamegraph::read_owner_names(call.store, call.range(), call.budget);
  if (stage.empty()) {
    draw_range(call, before, wanted, drawn);
  } else {
    if (wanted.by == flamegraph::By::process) wanted.by = flamegraph::By::name;  // so the same code of two executors is one frame
    style.compared = true;
    draw_stage(call, stage, wanted, drawn);
    style.subtitle = drawn.subtitle;
  }
  const double total = drawn.tree.root().shown();
  style.subtitle = flamegraph::value_text(total, style.unit) + ", " + style.subtitle;
  const flamegraph::Classes classes(drawn.tree, wanted.group_depth());

  core::JsonWriter json;
  json.object().key("svg").text(flamegraph::svg_of(drawn.tree, classes, style)).key("total").number(total);
  json.key("unit").text(wanted.counts_time() ? "ns" : "samples").key("profiles").list();
  for (const std::string &profile : call.store.tag_values("profile")) json.text(profile);
  json.end_list().key("empty").text_or_null(drawn.empty).key("differences").text_or_null(drawn.differences);
  return json.end_object().take();
}

// The waiting times of a task in seconds, in descending order: by reason (profile offcpu), and by the process waited for (profile
// waker).
std::string page_task(PageCall &call) {
  const std::string task = call.request.text("task");
  if (task.empty()) throw query::Wrong("parameter task is missing");
  core::JsonWriter json;
  json.object();
  for (const auto &[key, profile, by] :
       {std::tuple("reasons", "offcpu", flamegraph::By::reason), std::tuple("owners", "waker", flamegraph::By::owner)}) {
    flamegraph::Wanted wanted;
    wanted.tags = page_filters(call.request);
    wanted.profile = profile;
    wanted.by = by;
    if (by == flamegraph::By::owner) wanted.owner_name = flamegraph::read_owner_names(call.store, call.range(), call.budget);
    flamegraph::Tree tree;
    flamegraph::add_task(tree, task, call.store, wanted, call.range(), call.budget);
    tree.finish();
    json.key(key).list();
    for (const auto &[value, name] : largest_groups(tree))
      json.object().key("name").text(name).key("seconds").number(value / 1e9).end_object();
    json.end_list();
  }
  return json.end_object().take();
}

std::string page_graph(PageCall &call) {
  const double min_share = page_share(call.request);
  const Traffic traffic = read_traffic(call);
  core::JsonWriter json;
  json.object().key("svg").text(
      graph::as_circle(traffic.graph, min_share, "Traffic from " + command_line::span_text(traffic.range)));
  write_nodes(json, traffic.graph);
  write_edges(json, traffic.graph);
  json.key("total").number(traffic.graph.total).key("estimated").number(traffic.graph.estimated);
  return json.end_object().take();
}

std::string page_matrix(PageCall &call) {
  const auto top = static_cast<size_t>(page_count(call.request, "top", 20, 1, 200));
  const Traffic traffic = read_traffic(call);
  const graph::Matrix matrix = graph::matrix_of(traffic.graph, top);
  core::JsonWriter json;
  json.object().key("names").list();
  for (const std::string &name : matrix.names) json.text(name);
  json.end_list().key("values").list();
  for (const std::vector<double> &row : matrix.bytes) {
    json.list();
    for (const double bytes : row) json.number(bytes);
    json.end_list();
  }
  json.end_list().key("unit").text("By");
  return json.end_object().take();
}

}  // namespace atalaya::serve
