// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/jvms/text.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <span>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "core/base/text/units.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/command_line/render.h"

namespace atalaya::jvms {
namespace {

using command_line::Row;
using core::JsonObject;

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
  std::string text = command_line::span_text(overview.range) + ": " + counted(overview.jvms.size(), "JVM") + " on " +
                     counted(hosts_of(overview), "host");
  if (overview.reporting == 0) return text + ", no thread dumps\n";
  if (overview.reporting < overview.jvms.size()) text += ", of which " + std::to_string(overview.reporting) + " report";
  return text + ", " + fixed(overview.rate, 1) + " thread dumps/s in all, over " +
         core::format_duration(static_cast<int64_t>(overview.covered_seconds) * 1'000'000'000) + "\n";
}

std::string omitted_rows_text(size_t all, size_t shown) {
  return all > shown ? "... and " + std::to_string(all - shown) + " more: --top\n" : "";
}

// Formats a table without empty columns.
std::string columns(std::vector<Row> rows) {
  for (size_t column = rows.front().size(); column-- > 0;) {
    const bool empty = std::all_of(rows.begin() + 1, rows.end(), [&](const Row &row) { return row[column].empty(); });
    if (empty)
      for (Row &row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return command_line::as_columns(rows);
}

std::string jvm_table(const Overview &overview, size_t top) {
  std::vector<Row> rows = {{"host", "pid", "process", "dumps/s", "cost %", "version", "vm", "collector"}};
  for (size_t i = 0; i < std::min(top, overview.jvms.size()); ++i) {
    const Jvm &jvm = overview.jvms[i];
    rows.push_back({core::visible(jvm.host), core::visible(jvm.pid), core::visible(jvm.process), fixed(jvm.rate, 2),
                    fixed(jvm.cost, 2), core::visible(jvm.version), core::visible(jvm.vm), core::visible(jvm.collector)});
  }
  return columns(std::move(rows)) + omitted_rows_text(overview.jvms.size(), top);
}

// An explanation of each profile that has values.
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

// Appends a row with the sum of the omitted rows.
std::string function_table(const std::vector<Function> &functions, const std::optional<double> &rest = {},
                           const std::optional<double> &rest_share = {}) {
  std::vector<Row> rows = {{"function", kSamples, kShare, kSelf, kShare}};
  for (const Function &one : functions)
    rows.push_back(
        {core::visible(one.name), fixed(one.samples, 0), percent(one.samples_share), fixed(one.self, 4), percent(one.self_share)});
  if (rest) rows.push_back({kUnattributed, "", "", fixed(rest, 4), percent(rest_share)});
  return columns(std::move(rows));
}

// 10 significant digits, because shares and rates are ratios of counts.
void add_number(JsonObject &object, std::string_view name, const std::optional<double> &value) {
  if (value) object.key(name).raw(command_line::rounded_text(*value));
}

// Writes a value together with its bias, if it has one.
void add_profiles(JsonObject &object, const std::optional<double> &self, const std::optional<double> &self_share,
                  const std::optional<double> &samples, const std::optional<double> &samples_share) {
  if (self || self_share) {
    JsonObject dumps(object.key("dumps"));
    dumps.text("bias", "safepoint");
    add_number(dumps, "self", self);
    add_number(dumps, "share", self_share);
  }
  if (samples || samples_share) {
    JsonObject cpu(object.key("cpu"));
    add_number(cpu, "samples", samples);
    add_number(cpu, "share", samples_share);
  }
}

void add_function(JsonObject &object, const Function &function) {
  object.text("function", function.name);
  add_profiles(object, function.self, function.self_share, function.samples, function.samples_share);
}

// The command for details of a JVM, of one of its exemplars, or of a function in it.
template <class Owned>
void add_owner(JsonObject &object, const Owned &owned) {
  object.text("host", owned.host);
  object.text("pid", owned.pid);
  object.text("process", owned.process);
}

void add_window(JsonObject &object, const Overview &overview) {
  object.key("from").milliseconds(overview.range.from_ns);
  object.key("to").milliseconds(overview.range.to_ns);
  add_number(object, "seconds", overview.covered_seconds);
}

void add_jvm(JsonObject &object, const Jvm &jvm) {
  add_owner(object, jvm);
  add_number(object, "rate", jvm.rate);
  add_number(object, "cost", jvm.cost);
  object.text("version", jvm.version);
  object.text("vm", jvm.vm);
  object.text("collector", jvm.collector);
  object.text("flags", jvm.flags);
}

void add_exemplar(JsonObject &object, const Exemplar &exemplar) {
  object.text("bias", "safepoint");
  add_owner(object, exemplar);
  add_number(object, "share", exemplar.share);
  object.texts("trace", exemplar.lines);
}

std::string caller_name(const Caller &caller) {
  return caller.name.empty() ? "(start of thread)" : core::visible(caller.name);
}

}  // namespace

std::string overview_table(const Overview &overview, size_t top) {
  std::string text = headline(overview);
  if (!overview.jvms.empty()) text += "\n" + jvm_table(overview, top);
  const std::vector<Function> functions = top_functions(overview.functions, top);
  if (functions.empty()) return text;
  text += "\n" + function_table(functions, overview.unattributed, overview.unattributed_share) +
          omitted_rows_text(overview.functions.size(), functions.size());
  text += "\n" + legend(any_self(functions), any_samples(functions));
  const double all = overview.java_samples + overview.other_samples;
  if (all > 0 && overview.other_samples > 0)
    text += percent(overview.other_samples / all) + " % of the JVMs' " + kSamples +
            " are not in Java: collectors, compilers, the JVM\n";
  return text;
}

std::string overview_json(const Overview &overview, size_t top) {
  core::JsonWriter out;
  {
    JsonObject all(out);
    add_window(all, overview);
    all.count("reporting", overview.reporting);
    if (overview.reporting > 0) add_number(all, "rate", overview.rate);
    all.objects("jvms", overview.jvms, add_jvm);
    all.objects("functions", top_functions(overview.functions, top), add_function);
    if (overview.unattributed) {
      JsonObject rest(all.key("unattributed"));
      add_profiles(rest, overview.unattributed, overview.unattributed_share, {}, {});
    }
    if (overview.java_samples + overview.other_samples > 0) {
      JsonObject cpu(all.key("cpu"));
      add_number(cpu, "samples", overview.java_samples);
      add_number(cpu, "outside", overview.other_samples);
    }
  }
  return out.take() + '\n';
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
    text += "\n" + columns(std::move(rows)) + omitted_rows_text(detail.callers.size(), top);
  }
  if (!detail.jvms.empty()) {
    std::vector<Row> rows = {{"host", "pid", "process", kSelf}};
    for (size_t i = 0; i < std::min(top, detail.jvms.size()); ++i) {
      const JvmShare &jvm = detail.jvms[i];
      rows.push_back({core::visible(jvm.host), core::visible(jvm.pid), core::visible(jvm.process), fixed(jvm.self, 4)});
    }
    text += "\n" + columns(std::move(rows)) + omitted_rows_text(detail.jvms.size(), top);
  }
  return text + "\n" + legend(self, samples);
}

std::string detail_json(const Detail &detail, const Overview &overview, size_t top) {
  core::JsonWriter out;
  {
    JsonObject all(out);
    add_window(all, overview);
    add_function(all, detail.function);
    if (detail.exemplar) {
      JsonObject exemplar(all.key("exemplar"));
      add_exemplar(exemplar, *detail.exemplar);
    }
    const size_t callers = std::min(top, detail.callers.size());
    all.objects("callers", std::span(detail.callers).first(callers), [](JsonObject &object, const Caller &caller) {
      object.text("function", caller.name);
      add_profiles(object, {}, caller.self_share, {}, caller.samples_share);
    });
    all.objects("jvms", detail.jvms, [](JsonObject &object, const JvmShare &jvm) {
      add_owner(object, jvm);
      add_number(object, "self", jvm.self);
    });
  }
  return out.take() + '\n';
}

}  // namespace atalaya::jvms
