// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/jvm_counters.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/io/samples/metric_name.h"
#include "plugins/shared/protocols/hsperfdata/hsperfdata.h"

namespace atalaya::jvm {
namespace {

constexpr std::array<std::string_view, kCounters> kNames = {
    "sun.gc.generation.0.space.1.capacity",
    "sun.gc.generation.0.space.1.used",
    "sun.gc.generation.0.space.2.capacity",
    "sun.gc.generation.0.space.2.used",
    "sun.gc.generation.0.space.0.capacity",
    "sun.gc.generation.0.space.0.used",
    "sun.gc.generation.1.space.0.capacity",
    "sun.gc.generation.1.space.0.used",
    "sun.gc.generation.2.space.0.capacity",
    "sun.gc.generation.2.space.0.used",
    "sun.gc.metaspace.capacity",
    "sun.gc.metaspace.used",
    "sun.gc.compressedclassspace.capacity",
    "sun.gc.compressedclassspace.used",
    "sun.gc.collector.0.invocations",
    "sun.gc.collector.0.time",
    "sun.gc.collector.0.lastEntryTime",
    "sun.gc.collector.0.lastExitTime",
    "sun.gc.collector.1.invocations",
    "sun.gc.collector.1.time",
    "sun.gc.collector.1.lastEntryTime",
    "sun.gc.collector.1.lastExitTime",
    "sun.gc.collector.2.invocations",
    "sun.gc.collector.2.time",
    "sun.gc.collector.2.lastEntryTime",
    "sun.gc.collector.2.lastExitTime",
    "sun.rt.safepoints",
    "sun.rt.safepointTime",
    "sun.rt.safepointSyncTime",
    "java.threads.live",
    "java.threads.daemon",
    "java.threads.livePeak",
    "java.threads.started",
    "java.cls.loadedClasses",
    "java.cls.sharedLoadedClasses",
    "java.cls.unloadedClasses",
    "java.cls.sharedUnloadedClasses",
    "sun.ci.totalCompiles",
    "sun.ci.totalBailouts",
    "java.ci.totalTime",
    "sun.os.hrt.ticks",
    "sun.os.hrt.frequency",
    "sun.rt.createVmBeginTime",
    "sun.rt.createVmEndTime",
};

const std::unordered_map<std::string_view, size_t> &indexes() {
  static const std::unordered_map<std::string_view, size_t> all = [] {
    std::unordered_map<std::string_view, size_t> made;
    for (size_t i = 0; i < kNames.size(); ++i) made.emplace(kNames[i], i);
    return made;
  }();
  return all;
}

// Maps the JVM's internal name of its first collector, or of its policy, to the usual name.
std::string collector_name(std::string_view collector, std::string_view policy) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kCollectors = {{{"G1 ", "G1"},
                                                                                                {"PSScavenge", "Parallel"},
                                                                                                {"Parallel ", "Parallel"},
                                                                                                {"Copy", "Serial"},
                                                                                                {"Serial ", "Serial"},
                                                                                                {"ParNew", "CMS"},
                                                                                                {"Z", "ZGC"},
                                                                                                {"Shenandoah", "Shenandoah"}}};
  for (const auto &[begin, name] : kCollectors)
    if (collector.starts_with(begin)) return std::string(name);
  return std::string(policy.empty() ? collector : policy);
}

// Options with agents, commands or files, which may contain secrets.
bool is_secret(std::string_view option) {
  static constexpr std::array<std::string_view, 6> kSecret = {
      "-Xrun", "-Xbootclasspath", "-XX:OnError=", "-XX:OnOutOfMemoryError=", "-XX:Flags=", "-XX:VMOptionsFile="};
  return std::any_of(kSecret.begin(), kSecret.end(), [&](std::string_view begin) { return option.starts_with(begin); });
}

// Omits properties, agents and class paths, which may contain secrets.
std::string flags_in(std::string_view options) {
  std::string flags;
  while (!options.empty()) {
    const std::string_view word = core::cut_at(options, ' ');
    if (!word.starts_with("-X") || is_secret(word)) continue;
    if (!flags.empty()) flags += ' ';
    flags += word;
  }
  return flags;
}

constexpr std::string_view kExport = "btrace.";

// BTrace writes the class with slashes or with dots.
std::string export_name(std::string_view shared) {
  std::string dotted(shared), name;
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  io::append_metric_name(name, dotted);
  return name;
}

void take_export(const protocols::SharedValue &value, JvmCounters &shared) {
  const auto number = value.number();
  if (!number || value.name.size() == kExport.size()) return;
  if (shared.exports.size() == kMaxExports || value.name.size() > kMaxExportName) {
    shared.has_more_exports = true;
    return;
  }
  Export taken{export_name(value.name), *number};
  const auto is_same = [&](const Export &other) { return other.name == taken.name; };
  if (std::none_of(shared.exports.begin(), shared.exports.end(), is_same)) shared.exports.push_back(std::move(taken));
}

}  // namespace

std::string_view shared_name(Counter counter) {
  return kNames[static_cast<size_t>(counter)];
}

// Shenandoah counts its concurrent phases together with its pauses: neither is known.
void drop_collectors(JvmCounters &shared) {
  for (const CollectorCounters &collector : kCollectors)
    for (const Counter counter : {collector.count, collector.ticks, collector.entry, collector.exit})
      shared.numbers[static_cast<size_t>(counter)].reset();
}

std::optional<JvmCounters> parse_counters(std::string_view bytes) {
  JvmCounters shared;
  bool is_any = false, is_shenandoah = false;
  protocols::SharedReader reader(bytes);
  for (protocols::SharedValue value; reader.next(value);) {
    is_any = true;
    if (value.name == "sun.gc.lastCause") shared.last_cause = value.text().value_or("");
    const auto index = indexes().find(value.name);
    const auto number = index == indexes().end() ? std::nullopt : value.number();
    if (number && *number >= 0) shared.numbers[index->second] = number;
    if (value.name.starts_with(kExport)) take_export(value, shared);
    if (value.name == "sun.gc.collector.0.name") is_shenandoah = value.text().value_or("").starts_with("Shenandoah");
  }
  if (is_shenandoah) drop_collectors(shared);
  return is_any ? std::optional(std::move(shared)) : std::nullopt;
}

bool is_running(const JvmCounters &shared, const CollectorCounters &collector) {
  const auto &entry = shared[collector.entry], &exit = shared[collector.exit];
  return entry && exit && *entry > *exit;
}

bool is_up(const JvmCounters &shared) {
  return shared[Counter::started_ms].value_or(0) > 0;
}

Identity parse_identity(std::string_view bytes) {
  Identity all;
  std::string_view policy, collector, old_generation;
  protocols::SharedReader reader(bytes);
  for (protocols::SharedValue value; reader.next(value);) {
    const std::string_view text = value.text().value_or("");
    if (value.name == "java.property.java.version") all.version = text;
    if (value.name == "java.property.java.vm.name") all.vm = text;
    if (value.name == "sun.gc.policy.name") policy = text;
    if (collector.empty() && value.name.starts_with("sun.gc.collector.") && value.name.ends_with(".name")) collector = text;
    if (value.name == "sun.gc.generation.1.name") old_generation = text;
    if (value.name == "sun.rt.javaCommand") all.main = text.substr(0, text.find(' '));
    if (value.name == "java.rt.vmArgs") all.flags = flags_in(text);
    if (value.name == shared_name(Counter::start_ms))
      all.start_ns = std::clamp<int64_t>(value.number().value_or(0), 0, 1LL << 42) * 1'000'000;
  }
  all.collector = collector_name(collector, policy);
  if (all.collector.empty() && old_generation == "Heap") all.collector = "Epsilon";  // which never collects
  return all;
}

}  // namespace atalaya::jvm
