// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/jvms/text.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/base/json.h"
#include "core/base/safe_text.h"
#include "core/base/units.h"
#include "plugins/shared/analysis/query/output.h"
#include "plugins/shared/analysis/query/render.h"

namespace atalaya::jvms {
namespace {

using query::Row;

constexpr const char *kSelf = "self s/s", *kShare = "share %", *kSamples = "cpu samples", *kUnattributed = "[not attributed]";

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}
std::string fixed(const std::optional<double> &value, int decimals) {
  return value ? fixed(*value, decimals) : "";
}
std::string percent(const std::optional<double> &share) {
  return share ? fixed(*share * 100, 1) : "";
}

std::string counted(size_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool any_self(const std::vector<Function> &functions) {
  return std::any_of(functions.begin(), functions.end(), [](const Function &one) { return one.self.has_value(); });
}
bool any_samples(const std::vector<Function> &functions) {
  return std::any_of(functions.begin(), functions.end(), [](const Function &one) { return one.samples.has_value(); });
}

size_t hosts_of(const Overview &overview) {
  std::set<std::string> hosts;
  for (const Jvm &jvm : overview.jvms) hosts.insert(jvm.host);
  return hosts.size();
}

std::string headline(const Overview &overview) {
  std::string text =
      query::span_text(overview.range) + ": " + counted(overview.jvms.size(), "JVM") + " on " + counted(hosts_of(overview), "host");
  if (overview.reporting == 0) return text + ", no thread dumps\n";
  if (overview.reporting < overview.jvms.size()) text += ", of which " + std::to_string(overview.reporting) + " report";
  return text + ", " + fixed(overview.rate, 1) + " thread dumps/s in all, over " +
         core::format_duration(static_cast<int64_t>(overview.covered_seconds) * 1'000'000'000) + "\n";
}

std::string left_out(size_t all, size_t shown) {
  return all > shown ? "... and " + std::to_string(all - shown) + " more: --top\n" : "";
}

// Leaves out columns without values.
std::string columns(std::vector<Row> rows) {
  for (size_t column = rows.front().size(); column-- > 0;) {
    const bool empty = std::all_of(rows.begin() + 1, rows.end(), [&](const Row &row) { return row[column].empty(); });
    if (empty)
      for (Row &row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return query::as_columns(rows);
}

std::string jvm_table(const Overview &overview, size_t top) {
  std::vector<Row> rows = {{"host", "pid", "process", "dumps/s", "cost %", "version", "vm", "collector"}};
  for (size_t i = 0; i < std::min(top, overview.jvms.size()); ++i) {
    const Jvm &jvm = overview.jvms[i];
    rows.push_back({core::visible(jvm.host), core::visible(jvm.pid), core::visible(jvm.process), fixed(jvm.rate, 2),
                    fixed(jvm.cost, 2), core::visible(jvm.version), core::visible(jvm.vm), core::visible(jvm.collector)});
  }
  return columns(std::move(rows)) + left_out(overview.jvms.size(), top);
}

// The meaning of the profiles that have values.
std::string legend(bool self, bool samples) {
  std::string text;
  if (samples) text += std::string(kSamples) + ": by source perf, without bias; prefer them\n";
  if (self)
    text += std::string(kSelf) +
            ": seconds per second in the function, by thread dumps, bias=safepoint: inlined\n"
            "functions and loops without a safepoint count for the code that is called next\n";
  if (self && !samples) text += "for samples without bias, run pipelines/jvm-profile.lua\n";
  return text;
}

// With the rest, if there is any.
std::string function_table(const std::vector<Function> &functions, const std::optional<double> &rest = {},
                           const std::optional<double> &rest_share = {}) {
  std::vector<Row> rows = {{"function", kSamples, kShare, kSelf, kShare}};
  for (const Function &one : functions)
    rows.push_back(
        {core::visible(one.name), fixed(one.samples, 0), percent(one.samples_share), fixed(one.self, 4), percent(one.self_share)});
  if (rest) rows.push_back({kUnattributed, "", "", fixed(rest, 4), percent(rest_share)});
  return columns(std::move(rows));
}

void key(std::string &out, const char *name) {
  if (out.back() != '{') out += ',';
  core::append_json_string(out, name);
  out += ':';
}
void member(std::string &out, const char *name, const std::string &text) {
  if (text.empty()) return;
  key(out, name);
  core::append_json_string(out, text);
}
void member(std::string &out, const char *name, const std::optional<double> &value) {
  if (!value) return;
  key(out, name);
  out += query::rounded_text(*value);
}
template <class Items, class Append>
void members(std::string &out, const char *name, const Items &items, Append &&append) {
  key(out, name);
  out += '[';
  for (const auto &item : items) {
    if (out.back() != '[') out += ',';
    append(item);
  }
  out += ']';
}

// The bias is next to every value that has it.
void profiles(std::string &out, const std::optional<double> &self, const std::optional<double> &self_share,
              const std::optional<double> &samples, const std::optional<double> &samples_share) {
  if (self || self_share) {
    key(out, "dumps");
    out += R"({"bias":"safepoint")";
    member(out, "self", self);
    member(out, "share", self_share);
    out += '}';
  }
  if (samples || samples_share) {
    key(out, "cpu");
    out += '{';
    member(out, "samples", samples);
    member(out, "share", samples_share);
    out += '}';
  }
}

void function_json(std::string &out, const Function &function) {
  member(out, "function", function.name);
  profiles(out, function.self, function.self_share, function.samples, function.samples_share);
}

void who_json(std::string &out, const std::string &host, const std::string &pid, const std::string &process) {
  member(out, "host", host);
  member(out, "pid", pid);
  member(out, "process", process);
}

void window_json(std::string &out, const Overview &overview) {
  constexpr int64_t kMilli = 1'000'000;
  key(out, "from");
  core::append_integer(out, overview.range.from_ns / kMilli);
  key(out, "to");
  core::append_integer(out, overview.range.to_ns / kMilli);
  member(out, "seconds", overview.covered_seconds);
}

std::string caller_name(const Caller &caller) {
  return caller.name.empty() ? "(start of thread)" : core::visible(caller.name);
}

}  // namespace

std::string overview_table(const Overview &overview, size_t top) {
  std::string text = headline(overview);
  if (!overview.jvms.empty()) text += "\n" + jvm_table(overview, top);
  const std::vector<Function> functions = first_of(overview.functions, top);
  if (functions.empty()) return text;
  text += "\n" + function_table(functions, overview.unattributed, overview.unattributed_share) +
          left_out(overview.functions.size(), functions.size());
  text += "\n" + legend(any_self(functions), any_samples(functions));
  const double all = overview.java_samples + overview.other_samples;
  if (all > 0 && overview.other_samples > 0)
    text += percent(overview.other_samples / all) + " % of the JVMs' " + kSamples +
            " are not in Java: collectors, compilers, the JVM\n";
  return text;
}

std::string overview_json(const Overview &overview, size_t top) {
  std::string out = "{";
  window_json(out, overview);
  key(out, "reporting");
  core::append_integer(out, static_cast<int64_t>(overview.reporting));
  if (overview.reporting > 0) member(out, "rate", overview.rate);
  members(out, "jvms", overview.jvms, [&](const Jvm &jvm) {
    out += '{';
    who_json(out, jvm.host, jvm.pid, jvm.process);
    member(out, "rate", jvm.rate);
    member(out, "cost", jvm.cost);
    member(out, "version", jvm.version);
    member(out, "vm", jvm.vm);
    member(out, "collector", jvm.collector);
    member(out, "flags", jvm.flags);
    out += '}';
  });
  members(out, "functions", first_of(overview.functions, top), [&](const Function &function) {
    out += '{';
    function_json(out, function);
    out += '}';
  });
  if (overview.unattributed) {
    key(out, "unattributed");
    out += '{';
    profiles(out, overview.unattributed, overview.unattributed_share, {}, {});
    out += '}';
  }
  if (overview.java_samples + overview.other_samples > 0) {
    key(out, "cpu");
    out += '{';
    member(out, "samples", overview.java_samples);
    member(out, "outside", overview.other_samples);
    out += '}';
  }
  return out + "}\n";
}

std::string detail_table(const Detail &detail, const Overview &overview, size_t top) {
  const bool self = detail.function.self.has_value(), samples = detail.function.samples.has_value();
  std::string text = headline(overview) + "\n" + function_table({detail.function});
  if (detail.exemplar) {
    const Exemplar &exemplar = *detail.exemplar;
    text += "\nmost expensive stack, " + percent(exemplar.share) + " % of all exemplars, in " + core::visible(exemplar.process) +
            " with pid " + core::visible(exemplar.pid) + " on " + core::visible(exemplar.host) + " (bias=safepoint)\n";
    for (const std::string &line : exemplar.lines) text += "  " + core::visible(line) + "\n";
  }
  if (!detail.callers.empty()) {
    std::vector<Row> rows = {{"called by", kShare, "cpu share %"}};
    for (size_t i = 0; i < std::min(top, detail.callers.size()); ++i)
      rows.push_back(
          {caller_name(detail.callers[i]), percent(detail.callers[i].self_share), percent(detail.callers[i].samples_share)});
    text += "\n" + columns(std::move(rows)) + left_out(detail.callers.size(), top);
  }
  if (!detail.jvms.empty()) {
    std::vector<Row> rows = {{"host", "pid", "process", kSelf}};
    for (size_t i = 0; i < std::min(top, detail.jvms.size()); ++i) {
      const InJvm &jvm = detail.jvms[i];
      rows.push_back({core::visible(jvm.host), core::visible(jvm.pid), core::visible(jvm.process), fixed(jvm.self, 4)});
    }
    text += "\n" + columns(std::move(rows)) + left_out(detail.jvms.size(), top);
  }
  return text + "\n" + legend(self, samples);
}

std::string detail_json(const Detail &detail, const Overview &overview, size_t top) {
  std::string out = "{";
  window_json(out, overview);
  function_json(out, detail.function);
  if (detail.exemplar) {
    key(out, "exemplar");
    out += R"({"bias":"safepoint")";
    who_json(out, detail.exemplar->host, detail.exemplar->pid, detail.exemplar->process);
    member(out, "share", detail.exemplar->share);
    members(out, "trace", detail.exemplar->lines, [&](const std::string &line) { core::append_json_string(out, line); });
    out += '}';
  }
  const std::vector<Caller> callers(detail.callers.begin(),
                                    detail.callers.begin() + static_cast<std::ptrdiff_t>(std::min(top, detail.callers.size())));
  members(out, "callers", callers, [&](const Caller &caller) {
    out += '{';
    member(out, "function", caller.name);
    profiles(out, {}, caller.self_share, {}, caller.samples_share);
    out += '}';
  });
  members(out, "jvms", detail.jvms, [&](const InJvm &jvm) {
    out += '{';
    who_json(out, jvm.host, jvm.pid, jvm.process);
    member(out, "self", jvm.self);
    out += '}';
  });
  return out + "}\n";
}

}  // namespace atalaya::jvms
