// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/cpu_states.h"

#include <algorithm>

#include "core/base/text/text.h"

namespace atalaya::power {
namespace {

constexpr const char *kCpus = "sys/devices/system/cpu/";
constexpr const char *kUncore = "sys/devices/system/cpu/intel_uncore_frequency/";
constexpr const char *kDrm = "sys/class/drm/";
constexpr size_t kFirstBuffer = size_t{64} << 10, kMaxBufferSize = size_t{64} << 20;  // a line per interrupt, a column per CPU

// A share of time. The two clocks are read one after another, so it may be slightly above 100 %.
std::optional<double> share(std::optional<double> percent) {
  return percent ? std::optional(std::min(*percent, 100.0)) : std::nullopt;
}

}  // namespace

std::vector<CpuInterrupts> parse_interrupts(std::string_view text) {
  std::vector<CpuInterrupts> cpus;
  std::string_view head = core::cut_at(text, '\n');
  for (std::string_view word = procfs::next_word(head); !word.empty(); word = procfs::next_word(head))
    if (const auto number = number_after(word, "CPU")) cpus.push_back({*number, 0});
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    if (!procfs::next_word(line).ends_with(":")) continue;
    // Lines with fewer numbers belong to the whole host (ERR, MIS).
    std::string_view numbers = line;
    uint64_t count = 0;
    size_t columns = 0;
    while (columns < cpus.size() && procfs::next_number(numbers, count)) ++columns;
    if (columns < cpus.size() || (cpus.size() == 1 && procfs::next_word(numbers).empty())) continue;
    for (CpuInterrupts &cpu : cpus)
      if (procfs::next_number(line, count)) cpu.count += count;
  }
  return cpus;
}

void CpuStates::follow(const std::vector<procfs::Cpu> &cpus) {
  std::map<int32_t, procfs::Last<Throttle>> known_throttles;
  for (const CpuFiles &files : cpus_) known_throttles.emplace(files.cpu.number, files.throttle);
  KnownStates known_states;
  for (const State &state : states_) known_states.emplace(std::pair(state.cpu, state.name), state.last);
  cpus_.clear();
  states_.clear();
  frequencies_ = false;
  for (const procfs::Cpu &cpu : cpus) {
    const std::string folder = kCpus + ("cpu" + std::to_string(cpu.number)) + "/";
    cpus_.push_back({cpu, NumberFile(folder + "cpufreq/scaling_cur_freq"),
                     NumberFile(folder + "thermal_throttle/core_throttle_count"),
                     NumberFile(folder + "thermal_throttle/package_throttle_count"), known_throttles[cpu.number]});
    frequencies_ = frequencies_ || cpus_.back().frequency.read(tree_);
    if (wanted_.cstates) find_states(cpu.number, known_states);
  }
  find_uncore();
  if (graphics_.empty()) find_graphics();
}

void CpuStates::find_states(int32_t cpu, const KnownStates &known) {
  const std::string folder = kCpus + ("cpu" + std::to_string(cpu)) + "/cpuidle/";
  for (const std::string &entry : tree_.list(folder, "state").names) {
    const std::string name = tree_.line(folder + entry + "/name");
    if (name.empty()) continue;
    State state{cpu, name, NumberFile(folder + entry + "/time"), NumberFile(folder + entry + "/usage"), {}};
    if (const auto found = known.find({cpu, name}); found != known.end()) state.last = found->second;
    states_.push_back(std::move(state));
  }
}

void CpuStates::find_uncore() {
  uncore_.clear();
  for (const std::string &entry : tree_.list(kUncore, "package_").names) {
    const auto package = tree_.number(std::string(kUncore) + entry + "/package_id");
    const auto named = core::parse_number(std::string_view(entry).substr(8, 2));  // package_00_die_00
    const auto number = package ? package : named;
    if (!number || *number < 0 || *number > 0xffff) continue;
    if (!uncore_.empty() && uncore_.back().package == *number) continue;
    uncore_.push_back({static_cast<int32_t>(*number), NumberFile(std::string(kUncore) + entry + "/current_freq_khz")});
  }
}

void CpuStates::find_graphics() {
  for (const std::string &entry : tree_.list(kDrm, "card").names) {
    const std::string folder = kDrm + entry + "/";
    if (entry.find('-') != std::string::npos || !tree_.number(folder + "gt_cur_freq_mhz")) continue;
    const std::string rc6 = tree_.number(folder + "gt/gt0/rc6_residency_ms") ? "gt/gt0/" : "power/";
    graphics_.push_back({entry,
                         NumberFile(folder + "gt_cur_freq_mhz"),
                         NumberFile(folder + "gt_act_freq_mhz"),
                         NumberFile(folder + rc6 + "rc6_residency_ms"),
                         {}});
  }
}

void CpuStates::forget() {
  for (CpuFiles &cpu : cpus_) cpu.throttle.forget();
  for (State &state : states_) state.last.forget();
  for (Graphics &card : graphics_) card.last.forget();
  interrupts_.forget();
}

void CpuStates::collect(int64_t now_ns, Output &out) {
  for (CpuFiles &files : cpus_) {
    out.values().set("sys.cpu.mhz", scaled(files.frequency.read(tree_), 1e-3));
    const Throttle now{files.cpu.first_of_core ? count_of(files.core_throttles.read(tree_)) : std::nullopt,
                       files.cpu.first_of_package ? count_of(files.package_throttles.read(tree_)) : std::nullopt};
    const auto throttle = files.throttle.exchange(now, now_ns);
    out.values().set_count("sys.cpu.throttles", throttle.delta_of(&Throttle::core));
    out.emit_core(files.cpu.number);
    out.values().set_count("sys.cpu.throttles", throttle.delta_of(&Throttle::package));
    out.emit_package(files.cpu.package);
  }
  for (Uncore &uncore : uncore_) {
    out.values().set("sys.cpu.uncore.mhz", scaled(uncore.frequency.read(tree_), 1e-3));
    out.emit_package(uncore.package);
  }
  collect_states(now_ns, out);
  if (wanted_.interrupts) collect_interrupts(now_ns, out);
  collect_graphics(now_ns, out);
}

void CpuStates::collect_states(int64_t now_ns, Output &out) {
  constexpr double kPercentOfMicroseconds = 100.0 / 1e6;
  for (State &state : states_) {
    const Residency now{count_of(state.time.read(tree_)), count_of(state.usage.read(tree_))};
    const auto readings = state.last.exchange(now, now_ns);
    out.values().set("sys.cpu.cstate", share(readings.per_second(&Residency::microseconds, kPercentOfMicroseconds)));
    out.values().set("sys.cpu.cstate.entries", readings.per_second(&Residency::entries));
    out.emit_core_state(state.cpu, state.name);
  }
}

void CpuStates::collect_interrupts(int64_t now_ns, Output &out) {
  if (buffer_.empty()) buffer_.resize(kFirstBuffer);
  procfs::FileText text = interrupts_file_.read(tree_.folder(), buffer_);
  while (text.ok() && text.text.size() == buffer_.size() && buffer_.size() < kMaxBufferSize) {
    buffer_.resize(buffer_.size() * 2);
    text = interrupts_file_.read(tree_.folder(), buffer_);
  }
  if (!text.ok()) return;
  interrupts_.begin(now_ns);
  for (const CpuInterrupts &cpu : parse_interrupts(text.text)) {
    const Interrupts now{cpu.count};
    out.values().set("sys.cpu.interrupts", interrupts_.exchange(std::to_string(cpu.cpu), now).per_second(&Interrupts::count));
    out.emit_core(cpu.cpu);
  }
  interrupts_.end();
}

void CpuStates::collect_graphics(int64_t now_ns, Output &out) {
  for (Graphics &card : graphics_) {
    out.values().set("gpu.mhz", scaled(card.frequency.read(tree_), 1));
    out.values().set("gpu.mhz.actual", scaled(card.actual.read(tree_), 1));
    const auto sleep = card.last.exchange({count_of(card.rc6.read(tree_))}, now_ns);
    out.values().set("gpu.rc6", share(sleep.per_second(&Sleep::milliseconds, 0.1)));
    out.emit_gpu(card.name);
  }
}

}  // namespace atalaya::power
