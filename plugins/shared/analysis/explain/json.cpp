// SPDX-License-Identifier: Apache-2.0
// An explanation as JSON, for scripts and the page.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/shared/analysis/explain/explanation.h"

namespace atalaya::explain {
namespace {

using core::JsonObject;

void add_side(JsonObject &all, std::string_view key, const Side &side, const Steps &steps) {
  JsonObject object(all.key(key));
  object.key("from").milliseconds(side.range.from_ns);
  object.key("to").milliseconds(side.range.to_ns);
  object.count("steps", steps.complete());
  object.number("stepSeconds", static_cast<double>(steps.length_ns()) / 1e9);
}

// Unknown amounts are null.
void add_amounts(JsonObject &object, double before, double after) {
  object.key("before").number(before);
  object.key("after").number(after);
}

void add_difference(JsonObject &object, const Difference &difference) {
  add_amounts(object, difference.before, difference.after);
  object.key("difference").number(difference.change());
  object.key("chance").number(difference.chance);
  object.flag("beyondChance", difference.is_significant);
}

void add_resource(JsonObject &object, const Change &change) {
  object.key("resource").text(change.resource.id);
  object.key("name").text(change.resource.name);
  object.key("unit").text(change.resource.unit);
  object.texts("metrics", change.resource.metrics);
  add_difference(object, change.total);
}

void add_part(JsonObject &object, const PartChange &part, bool names_hosts) {
  object.key("name").text(part_name(part.tags, names_hosts));
  object.members("tags", part.tags);
  object.members("common", part.common);
  add_difference(object, part.difference);
}

void add_other(JsonObject &finding, const Change &change) {
  JsonObject object(finding.key("other"));
  const Difference other = change.other();
  object.count("count", change.parts.size() - change.named);
  add_amounts(object, other.before, other.after);
  object.key("difference").number(other.change());
}

void add_finding(JsonObject &object, const Finding &finding, bool names_hosts) {
  const Change &change = finding.change;
  object.flag("cause", finding.is_cause);
  object.key("sentence").text(finding.summary);
  add_resource(object, change);
  object.key("severity").number(change.severity());
  const std::vector<PartChange> named(change.parts.begin(), change.parts.begin() + static_cast<std::ptrdiff_t>(change.named));
  object.objects("parts", named, [&](JsonObject &one, const PartChange &part) { add_part(one, part, names_hosts); });
  add_other(object, change);
  object.objects("functions", finding.functions, [](JsonObject &one, const FunctionChange &function) {
    one.key("name").text(function.name);
    add_amounts(one, function.before, function.after);
  });
  object.objects("peers", finding.peers, [](JsonObject &one, const PeerChange &peer) {
    one.key("remote").text(peer.remote);
    add_amounts(one, peer.before, peer.after);
  });
  object.texts("phases", finding.phases);
  object.texts("evidence", finding.commands);
}

void add_fact(JsonObject &object, const FactChange &fact) {
  object.key("host").text(fact.host);
  object.key("fact").text(fact.fact);
  object.key("before").text(fact.before);
  object.key("after").text(fact.after);
  object.key("time").milliseconds(fact.time_ns);
}

}  // namespace

std::string as_json(const Explanation &explanation) {
  core::JsonWriter out;
  {
    JsonObject all(out);
    add_side(all, "range", explanation.window, explanation.window_steps);
    add_side(all, "baseline", explanation.baseline, explanation.baseline_steps);
    all.texts("hosts", explanation.hosts);
    all.texts("others", explanation.others);
    all.objects("findings", explanation.findings,
                [&](JsonObject &one, const Finding &finding) { add_finding(one, finding, explanation.names_hosts); });
    all.objects("facts", explanation.facts, add_fact);
    all.objects("ruledOut", explanation.unchanged, add_resource);
    all.key("statistics").text(statistics_text(explanation));
    all.texts("notes", explanation.notes);
  }
  return out.take() + '\n';
}

}  // namespace atalaya::explain
