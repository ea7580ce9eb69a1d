// SPDX-License-Identifier: Apache-2.0
// An explanation as JSON, for scripts and the page.
#include <cmath>

#include "core/base/json.h"
#include "core/base/text.h"
#include "plugins/shared/analysis/explain/explanation.h"
#include "plugins/shared/analysis/query/render.h"

namespace atalaya::explain {
namespace {

void append_key(std::string &out, std::string_view key) {
  if (out.back() != '{' && out.back() != '[') out += ',';
  core::append_json_string(out, key);
  out += ':';
}
void append(std::string &out, std::string_view key, std::string_view text) {
  append_key(out, key);
  core::append_json_string(out, text);
}
void append(std::string &out, std::string_view key, double value) {
  append_key(out, key);
  if (std::isfinite(value))
    core::append_number(out, value);
  else
    out += "null";
}
void append(std::string &out, std::string_view key, bool value) {
  append_key(out, key);
  out += value ? "true" : "false";
}
void append_texts(std::string &out, std::string_view key, const std::vector<std::string> &texts) {
  append_key(out, key);
  query::append_list(out, texts);
}

template <class List, class Body>
void append_all(std::string &out, std::string_view key, const List &list, Body &&body) {
  append_key(out, key);
  out += '[';
  for (const auto &one : list) {
    if (out.back() != '[') out += ',';
    out += '{';
    body(one);
    out += '}';
  }
  out += ']';
}

void append_time(std::string &out, std::string_view key, int64_t time_ns) {
  append_key(out, key);
  out += std::to_string(time_ns / 1'000'000);
}

void append_side(std::string &out, std::string_view key, const Side &side, const Steps &steps) {
  append_key(out, key);
  out += '{';
  append_time(out, "from", side.range.from_ns);
  append_time(out, "to", side.range.to_ns);
  append(out, "steps", static_cast<double>(steps.complete()));
  append(out, "stepSeconds", static_cast<double>(steps.length_ns()) / 1e9);
  out += '}';
}

void append_difference(std::string &out, const Difference &difference) {
  append(out, "before", difference.before);
  append(out, "after", difference.after);
  append(out, "difference", difference.change());
  append(out, "chance", difference.chance);
  append(out, "beyondChance", difference.beyond);
}

void append_resource(std::string &out, const Change &change) {
  append(out, "resource", change.resource.id);
  append(out, "name", change.resource.name);
  append(out, "unit", change.resource.unit);
  append_texts(out, "metrics", change.resource.metrics);
  append_difference(out, change.total);
}

void append_part(std::string &out, const PartChange &part, bool names_hosts) {
  append(out, "name", part_name(part.tags, names_hosts));
  append_key(out, "tags");
  query::append_tags(out, part.tags);
  append_key(out, "common");
  query::append_tags(out, part.common);
  append_difference(out, part.difference);
}

void append_finding(std::string &out, const Finding &finding, bool names_hosts) {
  const Change &change = finding.change;
  append(out, "cause", finding.is_cause);
  append(out, "sentence", sentence(finding, names_hosts));
  append_resource(out, change);
  append(out, "severity", change.severity());
  const std::vector<PartChange> named(change.parts.begin(), change.parts.begin() + static_cast<std::ptrdiff_t>(change.named));
  append_all(out, "parts", named, [&](const PartChange &part) { append_part(out, part, names_hosts); });
  const Difference other = change.other();
  append_key(out, "other");
  out += '{';
  append(out, "count", static_cast<double>(change.parts.size() - change.named));
  append(out, "before", other.before);
  append(out, "after", other.after);
  append(out, "difference", other.change());
  out += '}';
  append_all(out, "functions", finding.functions, [&](const FunctionChange &function) {
    append(out, "name", function.name);
    append(out, "before", function.before);
    append(out, "after", function.after);
  });
  append_all(out, "peers", finding.peers, [&](const PeerChange &peer) {
    append(out, "remote", peer.remote);
    append(out, "before", peer.before);
    append(out, "after", peer.after);
  });
  append_texts(out, "phases", finding.phases);
  append_texts(out, "evidence", finding.commands);
}

}  // namespace

std::string as_json(const Explanation &explanation) {
  std::string out = "{";
  append_side(out, "range", explanation.window, explanation.window_steps);
  append_side(out, "baseline", explanation.baseline, explanation.baseline_steps);
  append_texts(out, "hosts", explanation.hosts);
  append_texts(out, "others", explanation.others);
  append_all(out, "findings", explanation.findings,
             [&](const Finding &finding) { append_finding(out, finding, explanation.names_hosts); });
  append_all(out, "facts", explanation.facts, [&](const FactChange &fact) {
    append(out, "host", fact.host);
    append(out, "fact", fact.fact);
    append(out, "before", fact.before);
    append(out, "after", fact.after);
    append_time(out, "time", fact.time_ns);
  });
  append_all(out, "ruledOut", explanation.unchanged, [&](const Change &change) { append_resource(out, change); });
  append(out, "statistics", statistics_text(explanation));
  append_texts(out, "notes", explanation.notes);
  return out + "}\n";
}

}  // namespace atalaya::explain
