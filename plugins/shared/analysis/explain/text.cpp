// SPDX-License-Identifier: Apache-2.0
// An explanation as text.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/explain/explanation.h"
#include "plugins/shared/io/time/time_text.h"

namespace atalaya::explain {
namespace {

// Three digits, or all digits before the point.
std::string number(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string with_sign(double value) {
  return value > 0 ? "+" + number(value) : number(value);
}

std::string chance_text(double chance) {
  if (chance < 0.0001) return "p < 0.0001";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "p = %.2g", chance);
  return text.data();
}

std::string amounts(const Difference &difference, std::string_view unit) {
  return with_sign(difference.change()) + " " + std::string(unit) + " (" + number(difference.before) + " to " +
         number(difference.after) + ")";
}

std::string share(const Difference &part, const Difference &total) {
  const double share = total.change() == 0 ? 0 : 100 * part.change() / total.change();
  if (!total.is_significant || share <= 0) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ", %.0f %% of the difference", std::min(share, 999.0));
  return text.data();
}

// Tags with further details of a process.
std::string details(const PartChange &part) {
  std::string text;
  for (const char *key : {"pid", "user", "container", "unit", "cgroup"})
    if (const auto found = part.common.find(key); found != part.common.end())
      text += (text.empty() ? " (" : ", ") + std::string(key) + " " + core::visible(found->second);
  return text.empty() ? "" : text + ")";
}

void append_parts(std::string &out, const Finding &finding, bool names_hosts) {
  const Change &change = finding.change;
  if (change.resource.keys.empty() && change.parts.size() <= 1) return;
  for (size_t i = 0; i < change.named; ++i) {
    const PartChange &part = change.parts[i];
    out += "     " + part_name(part.tags, names_hosts) + details(part) + ": " + amounts(part.difference, change.resource.unit) +
           share(part.difference, change.total) + "\n";
  }
  const size_t others = change.parts.size() - change.named;
  if (others > 0) out += "     other (" + std::to_string(others) + "): " + amounts(change.other(), change.resource.unit) + "\n";
}

void append_context(std::string &out, const Finding &finding) {
  for (const FunctionChange &function : finding.functions)
    out += "     function " + core::visible(function.name) + ": " + number(function.before) + " to " + number(function.after) +
           " % of its CPU samples\n";
  for (const PeerChange &peer : finding.peers)
    out += "     peer " + core::visible(peer.remote) + ": " + number(peer.before) + " to " + number(peer.after) + " MiB/s\n";
  for (const std::string &phase : finding.phases) out += "     new phase " + core::visible(phase) + "\n";
  if (!finding.commands.empty()) out += "     see: " + core::visible(finding.commands.front()) + "\n";
}

void append_facts(std::string &out, const std::vector<FactChange> &facts) {
  if (facts.empty()) return;
  out += "\nChanged settings:\n";
  io::LocalTimes times;
  for (const FactChange &fact : facts) times.add(fact.time_ns);
  for (const FactChange &fact : facts)
    out += "  " + core::visible(fact.fact) + (fact.host.empty() ? "" : " on " + core::visible(fact.host)) + ": " +
           core::visible(fact.before) + " to " + core::visible(fact.after) + ", at " + times.text(fact.time_ns) + "\n";
}

void append_unchanged(std::string &out, const std::vector<Change> &unchanged) {
  if (unchanged.empty()) return;
  out += "\nRuled out, no difference beyond chance:\n";
  for (const Change &change : unchanged)
    out += "  " + std::string(change.resource.name) + ": " + number(change.total.before) + " to " + number(change.total.after) +
           " " + std::string(change.resource.unit) + "\n";
}

void append_findings(std::string &out, const Explanation &explanation, bool causes) {
  size_t rank = 0;
  for (const Finding &finding : explanation.findings) {
    ++rank;
    if (finding.is_cause != causes) continue;
    out += "  " + std::to_string(rank) + ". " + finding.summary + "\n";
    append_parts(out, finding, explanation.names_hosts);
    append_context(out, finding);
  }
}

std::string others_text(const Explanation &explanation) {
  constexpr size_t kShown = 8;
  const std::vector<std::string> &others = explanation.others;
  std::string names;
  for (size_t i = 0; i < std::min(others.size(), kShown); ++i) names += (i == 0 ? "" : ", ") + core::visible(others[i]);
  if (others.size() > kShown) names += ", ...";
  return "at the same time, the mean of " + std::to_string(others.size()) + " other hosts: " + names;
}

}  // namespace

std::string part_name(const Tags &tags, bool names_hosts) {
  std::string name;
  const auto value = [&](const char *key) {
    const auto found = tags.find(key);
    return found == tags.end() ? std::string() : core::visible(found->second);
  };
  for (const auto &[key, text] : tags)
    if (key != "host" && key != "parent" && key != "pid") name += (name.empty() ? "" : " ") + core::visible(text);
  if (tags.contains("pid")) name += (name.empty() ? "pid " : "-") + value("pid");
  if (tags.contains("parent")) name += " started by " + value("parent");
  if (name.empty()) return tags.contains("host") ? "host " + value("host") : "untagged";
  return names_hosts && tags.contains("host") ? name + " on " + value("host") : name;
}

void summarise(Finding &finding, bool names_hosts) {
  const Change &change = finding.change;
  const bool total = change.total.is_significant;
  const Difference &shown = total || change.named == 0 ? change.total : change.parts.front().difference;
  finding.chance = shown.chance;
  std::string &text = finding.summary;
  text = change.resource.name;
  text[0] = static_cast<char>(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 32 : text[0]);
  if (!total) text += " of " + part_name(change.parts.front().tags, names_hosts);
  text += ": " + amounts(shown, change.resource.unit) + ", " + chance_text(shown.chance);
  if (!total) {
    text += "; the total did not change beyond chance: " + amounts(change.total, change.resource.unit);
  } else if (change.named > 0 && (!change.resource.keys.empty() || change.parts.size() > 1)) {
    const PartChange &part = change.parts.front();
    text += "; most of it: " + part_name(part.tags, names_hosts) + " " + with_sign(part.difference.change());
  }
}

std::string statistics_text(const Explanation &explanation) {
  std::array<char, 400> text{};
  std::snprintf(
      text.data(), text.size(),
      "Test: %zu steps against %zu, exact rank sum and far values, p <= %.2g / %zu tests. A finding also exceeds %.1f times "
      "the range of the baseline's steps (without one at each end), and %.0f %% of the baseline.",
      explanation.window_steps.complete(), explanation.baseline_steps.complete(), evidence::kChance,
      std::max<size_t>(explanation.tests, 1), kSpreads, 100 * kMinPart);
  if (explanation.others.empty()) return text.data();
  return std::string(text.data()) + " p is also at least that of one more host among the " +
         std::to_string(explanation.others.size()) + " others (Student's t).";
}

std::string as_text(const Explanation &explanation) {
  std::string out = "Range:    " + command_line::span_text(explanation.window.range) + "\n";
  out +=
      "Baseline: " + (explanation.others.empty() ? command_line::span_text(explanation.baseline.range) : others_text(explanation)) +
      "\n";
  const auto has = [&](bool causes) {
    return std::any_of(explanation.findings.begin(), explanation.findings.end(),
                       [&](const Finding &finding) { return finding.is_cause == causes; });
  };
  if (explanation.findings.empty()) out += "\nNothing changed beyond chance.\n";
  if (has(true)) {
    out += "\nChanges, the largest first:\n";
    append_findings(out, explanation, true);
  }
  if (has(false)) {
    out += has(true) ? "\nEffects:\n" : "\nWaiting and pressure, without a larger use of a resource:\n";
    append_findings(out, explanation, false);
  }
  append_facts(out, explanation.facts);
  append_unchanged(out, explanation.unchanged);
  out += "\n" + statistics_text(explanation) + "\n";
  for (const std::string &note : explanation.notes) out += "Note: " + note + "\n";
  return out;
}

}  // namespace atalaya::explain
