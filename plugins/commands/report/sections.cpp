// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/sections.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/flamegraph/class.h"
#include "plugins/shared/analysis/flamegraph/picture/picture.h"
#include "plugins/shared/analysis/flamegraph/stored.h"
#include "plugins/shared/analysis/graph/drawing/heat_map.h"
#include "plugins/shared/analysis/graph/drawing/matrix.h"
#include "plugins/shared/analysis/graph/drawing/text.h"
#include "plugins/shared/analysis/graph/graph.h"
#include "plugins/shared/analysis/graph/read.h"
#include "plugins/shared/analysis/jobs/findings/analyse.h"
#include "plugins/shared/analysis/jobs/read/read_jobs.h"

namespace atalaya::report_command {
namespace {

using command_line::xml_text;

constexpr size_t kMaxFrames = 2'000, kMaxNodes = 10, kMaxFindings = 20;
constexpr int kWidth = 1048;

std::string stacks_of(const char *profile, const std::vector<store::TagFilter> &tags, command_line::Reading &reading) {
  flamegraph::Tree tree;
  flamegraph::Wanted wanted;
  wanted.tags = tags;
  wanted.profile = profile;
  wanted.by = flamegraph::By::name;
  flamegraph::add_stored(tree, flamegraph::Side::shown, *reading.store, wanted, reading.range, reading.budget);
  const flamegraph::Classes classes(tree, wanted.group_depth());
  tree.finish();
  if (tree.root().shown() == 0) return "";
  flamegraph::Style style;
  style.width = kWidth;
  style.frames = kMaxFrames;
  style.self_contained = false;
  style.unit = wanted.counts_time() ? flamegraph::Unit::nanoseconds : flamegraph::Unit::samples;
  style.title = wanted.counts_time() ? "Waiting time by call stack" : "CPU time by call stack";
  style.subtitle = flamegraph::value_text(tree.root().shown(), style.unit);
  return flamegraph::svg_of(tree, classes, style);
}

std::string traffic_of(const std::vector<store::TagFilter> &tags, command_line::Reading &reading) {
  const std::vector<graph::Flow> flows = graph::read_flows(tags, reading.range, *reading.store, reading.budget);
  if (flows.empty()) return "";
  graph::Translations translations;
  graph::add_reported_translations(reading.range, *reading.store, reading.budget, translations);
  const graph::Graph all = graph::graph_of(flows, graph::paired(flows, translations), {}, graph::By::command);
  std::string html;
  if (all.estimated > 0)
    html += "<p>" + xml_text(graph::bytes_text(all.estimated)) + " of " + xml_text(graph::bytes_text(all.total)) +
            " are estimates, because several clients and servers use one port.</p>\n";
  return html + graph::as_svg(graph::matrix_of(all, kMaxNodes), "Traffic between processes by name");
}

std::string findings_of(const std::vector<store::TagFilter> &tags, command_line::Reading &reading) {
  jobs::JobData data = jobs::read_jobs({}, tags, reading.range, *reading.store, reading.budget);
  if (data.tasks.empty() && data.regions.empty()) return "";
  const jobs::Analysis analysis = jobs::analyse(std::move(data), {}, *reading.store, reading.budget);
  if (analysis.findings.empty()) return "<p>No bottleneck found.</p>\n";
  std::string html;
  for (size_t i = 0; i < std::min(analysis.findings.size(), kMaxFindings); ++i) {
    const jobs::Finding &finding = analysis.findings[i];
    html += "<h3>" + xml_text(finding.summary) + "</h3>\n<ul>\n";
    for (const std::string &evidence : finding.evidence) html += "<li>" + xml_text(evidence) + "</li>\n";
    for (const jobs::Advice &advice : finding.advice) html += "<li>advice: " + xml_text(advice_text(advice)) + "</li>\n";
    html += "</ul>\n";
  }
  if (analysis.findings.size() > kMaxFindings)
    html += "<p>and " + std::to_string(analysis.findings.size() - kMaxFindings) + " more findings</p>\n";
  return html;
}

template <class Body>
void add_section(std::vector<Section> &sections, const char *title, Body &&body) {
  std::string html;
  try {
    html = body();
  } catch (const query::TooMuch &much) {
    html = "<p>" + xml_text(command_line::advised(much.what(), command_line::kAskForLessTime)) + "</p>\n";
  }
  if (!html.empty()) sections.push_back({title, std::move(html)});
}

}  // namespace

void add_sections(std::vector<Section> &sections, const std::vector<store::TagFilter> &tags, command_line::Reading &reading) {
  add_section(sections, "Stacks", [&] { return stacks_of("cpu", tags, reading); });
  add_section(sections, "Waiting", [&] { return stacks_of("offcpu", tags, reading); });
  add_section(sections, "Traffic", [&] { return traffic_of(tags, reading); });
  add_section(sections, "Jobs", [&] { return findings_of(tags, reading); });
}

}  // namespace atalaya::report_command
