// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/resource.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace atalaya::jobs {
namespace {

bool begins(std::string_view text, std::string_view with) {
  return text.starts_with(with);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Patterns of names; the first match decides.
constexpr std::pair<std::string_view, Resource> kParts[] = {
    {".power", Resource::power},
    {".energy", Resource::power},
    {".temp", Resource::power},
    {".pressure.cpu", Resource::cpu},
    {".pressure.io", Resource::disk},
    {".pressure.memory", Resource::memory},
    {".net.", Resource::network},
    {".disk.", Resource::disk},
    {".mem.pgin", Resource::disk},
    {".mem.pgout", Resource::disk},
    {".fs.", Resource::disk},
    {".mem.", Resource::memory},
    {".swap.", Resource::memory},
    {".cpu.", Resource::cpu},
    {".counters.", Resource::cpu},
    {".io.", Resource::disk},
    {".interrupts", Resource::scheduling},
    {".context.", Resource::scheduling},
    {".switches.", Resource::scheduling},
    {".tasks.", Resource::scheduling},
    {".load.", Resource::scheduling},
    {".threads", Resource::scheduling},
    {".faults.", Resource::memory},
};

}  // namespace

std::string_view resource_text(Resource resource) {
  constexpr std::array<std::string_view, 9> kTexts = {"CPU", "scheduling", "disk",      "network", "memory",
                                                      "JVM", "power",      "framework", "other"};
  return kTexts[static_cast<size_t>(resource)];
}

Resource resource_of(std::string_view metric) {
  if (begins(metric, "jvm.") || metric == "span.gc.time") return Resource::jvm;
  if (begins(metric, "counter.") || metric == "span.records") return Resource::framework;
  if (metric == "span.bytes.remote") return Resource::network;
  if (metric == "span.spills") return Resource::disk;
  for (const auto &[part, resource] : kParts)
    if (has(metric, part)) return resource;
  return Resource::other;
}

Combine combine_of(std::string_view metric, const store::MetricInfo *info) {
  // Excludes fields that programs export (btrace.), which may be anything, and the host's clock, which cannot delay tasks.
  for (const std::string_view other : {"self.", "flow.", "span.", "counter.", "profile.", "perf.", "btrace.", "sys.clock."})
    if (begins(metric, other)) return Combine::omit;
  if (info == nullptr || info->kind == store::Kind::unknown) return Combine::mean;
  if (info->kind == store::Kind::total || info->unit == "ns") return Combine::omit;  // totals only increase
  if (info->kind == store::Kind::delta) return Combine::sum;
  if (info->unit == "%") return !begins(metric, "sys.") && has(metric, ".cpu.") ? Combine::sum : Combine::mean;
  if (info->kind == store::Kind::rate || info->unit == "MiBy" || info->unit == "{core}") return Combine::sum;
  const bool is_ratio = has(metric, ".counters.");  // instructions per cycle, misses per thousand instructions
  return info->unit == "1" && !is_ratio ? Combine::sum : Combine::mean;
}

Needs needs_of(std::string_view phase) {
  Needs needs;
  needs.network = has(phase, "shuffle") && !has(phase, "write");
  const bool fetches =
      has(phase, "fetch") && !has(phase, "result");  // "result" excludes phases that fetch the result for the creator of the task
  needs.input = needs.network || has(phase, "read") || has(phase, "input") || fetches;
  needs.reads = needs.input || has(phase, "merge");
  needs.writes = has(phase, "write") || has(phase, "spill") || has(phase, "merge") || has(phase, "output") || has(phase, "commit");
  return needs;
}

Needs needs_of(std::string_view phase, const std::vector<std::string> &stage) {
  Needs needs = needs_of(phase);
  const auto none = [&](auto &&does) { return std::none_of(stage.begin(), stage.end(), does); };
  const auto reads_input = [](const std::string &name) { return needs_of(name).input && !needs_of(name).network; };
  if ((phase == "map" || phase == "compute") && none(reads_input)) needs.input = needs.reads = true;
  if (phase == "map" && none([](const std::string &name) { return has(name, "spill"); })) needs.writes = true;
  if (phase == "reduce" && none([](const std::string &name) { return has(name, "write"); })) needs.writes = true;
  return needs;
}

std::string short_text(double value) {
  std::array<char, 32> text{};
  const double size = std::abs(value);
  const int decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : 4;
  std::snprintf(text.data(), text.size(), size < 1e15 ? "%.*f" : "%.*e", decimals, value);
  std::string out = text.data();
  if (out.find('.') == std::string::npos || size >= 1e15) return out;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::string size_text(double bytes) {
  constexpr std::array<const char *, 5> kUnits = {" B", " kB", " MB", " GB", " TB"};
  size_t unit = 0;
  for (; std::abs(bytes) >= 999.5 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 || std::abs(bytes) >= 99.5 ? "%.0f%s" : "%.1f%s", bytes, kUnits[unit]);
  return text.data();
}

std::string coefficient_text(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string percent_text(double part) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), std::abs(part) < 0.0995 && part != 0 ? "%.1f %%" : "%.0f %%", 100 * part);
  return text.data();
}

}  // namespace atalaya::jobs
