// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/msr_states.h"

#include <algorithm>
#include <map>

#include "plugins/shared/host/power/msr_rapl.h"

namespace atalaya::power {
namespace {

constexpr uint32_t kTsc = 0x10, kSmi = 0x34, kMperf = 0xe7, kAperf = 0xe8;
constexpr uint32_t kThermalStatus = 0x19c, kPackageThermalStatus = 0x1b1, kTemperatureTarget = 0x1a2;
constexpr uint32_t kRaplUnit = 0x606;
constexpr uint64_t k32Bits = 0xffffffff;

// A share of time. The registers are read one after another, so it may be slightly above 100 %.
std::optional<double> percent(std::optional<double> part, std::optional<double> all) {
  if (!part || !all || *all <= 0) return std::nullopt;
  return std::min(100 * *part / *all, 100.0);
}

std::optional<double> quotient(std::optional<double> part, std::optional<double> all) {
  if (!part || !all || *all <= 0) return std::nullopt;
  return *part / *all;
}

// Degrees below the maximum from a thermal status, if marked as valid.
std::optional<double> celsius(std::optional<uint64_t> status, std::optional<int64_t> max_celsius, bool always_valid) {
  if (!status || !max_celsius || (!always_valid && bits(*status, 31, 31) == 0)) return std::nullopt;
  return static_cast<double>(*max_celsius) - static_cast<double>(bits(*status, 16, 22));
}

}  // namespace

bool MsrStates::follow(const std::vector<procfs::Cpu> &cpus, const CpuModel &model) {
  std::map<int32_t, CpuState> known;
  for (CpuState &state : cpus_) known.emplace(state.cpu.number, state);
  cpus_.clear();
  intel_ = model.vendor == Vendor::intel;
  throttle_unit_s_ = 0;
  if (model.vendor == Vendor::other) return false;
  for (const procfs::Cpu &cpu : cpus) {
    if (!msr_.read(cpu.number, kTsc)) continue;
    CpuState &state = known[cpu.number];
    state.cpu = cpu;
    if (!cpu.first_of_package) state.package.forget();
    if (const auto target = intel_ ? msr_.read(cpu.number, kTemperatureTarget) : std::nullopt)
      if (const uint64_t max_celsius = bits(*target, 16, 23); max_celsius > 0)
        state.max_celsius = static_cast<int64_t>(max_celsius);
    cpus_.push_back(state);
  }
  if (intel_ && !cpus_.empty())
    if (const auto unit = msr_.read(cpus_.front().cpu.number, kRaplUnit)) throttle_unit_s_ = rapl_units(*unit, model).seconds;
  return !cpus_.empty();
}

void MsrStates::forget() {
  for (CpuState &state : cpus_) {
    state.core.forget();
    state.package.forget();
  }
}

void MsrStates::collect(int64_t now_ns, bool temperatures, Output &out) {
  for (CpuState &state : cpus_) {
    emit_core(state.cpu, state.core.exchange(read_core(state.cpu), now_ns), out);
    if (intel_ && state.cpu.first_of_package) emit_package(state.cpu, state.package.exchange(read_package(state.cpu), now_ns), out);
    if (intel_ && temperatures) emit_temperatures(state, out);
  }
}

procfs::Count MsrStates::counter(int32_t cpu, uint32_t address) {
  return msr_.read(cpu, address);
}

MsrStates::Core MsrStates::read_core(const procfs::Cpu &cpu) {
  Core core;
  core.tsc = counter(cpu.number, kTsc);
  core.aperf = counter(cpu.number, kAperf);
  core.mperf = counter(cpu.number, kMperf);
  if (!intel_) return core;
  if (const auto smi = counter(cpu.number, kSmi)) core.smi = *smi & k32Bits;
  if (!cpu.first_of_core) return core;  // the others share its registers
  core.c1 = counter(cpu.number, 0x660);
  core.c3 = counter(cpu.number, 0x3fc);
  core.c6 = counter(cpu.number, 0x3fd);
  core.c7 = counter(cpu.number, 0x3fe);
  return core;
}

MsrStates::Package MsrStates::read_package(const procfs::Cpu &cpu) {
  Package package;
  package.tsc = counter(cpu.number, kTsc);
  package.pc2 = counter(cpu.number, 0x60d);
  package.pc3 = counter(cpu.number, 0x3f8);
  package.pc6 = counter(cpu.number, 0x3f9);
  package.pc7 = counter(cpu.number, 0x3fa);
  package.pc8 = counter(cpu.number, 0x630);
  package.pc9 = counter(cpu.number, 0x631);
  package.pc10 = counter(cpu.number, 0x632);
  package.c0_total = counter(cpu.number, 0x658);
  package.c0_any = counter(cpu.number, 0x659);
  package.c0_graphics = counter(cpu.number, 0x65a);
  package.c0_both = counter(cpu.number, 0x65b);
  if (const auto status = counter(cpu.number, 0x613)) package.throttled = *status & k32Bits;
  if (const auto status = counter(cpu.number, 0x61b)) package.memory_throttled = *status & k32Bits;
  return package;
}

void MsrStates::emit_core(const procfs::Cpu &cpu, const procfs::Readings<Core> &core, Output &out) {
  Values &values = out.values();
  const auto tsc = core.increase(&Core::tsc), mperf = core.increase(&Core::mperf), aperf = core.increase(&Core::aperf);
  const auto tsc_mhz = core.per_second(&Core::tsc, 1e-6), ratio = quotient(aperf, mperf), busy = percent(mperf, tsc);
  values.set("sys.cpu.mhz.average", core.per_second(&Core::aperf, 1e-6));
  if (tsc_mhz && ratio) values.set("sys.cpu.mhz.busy", *tsc_mhz * *ratio);
  values.set("sys.cpu.mhz.tsc", tsc_mhz);
  values.set("sys.cpu.busy", busy);
  values.set_count("sys.cpu.smi", core.delta_of(&Core::smi));
  out.emit_core(cpu.number);
  const auto state = [&](const char *name, std::optional<double> share) {
    values.set("sys.cpu.cstate.hardware", share);
    out.emit_core_state(cpu.number, name);
  };
  const auto c3 = percent(core.increase(&Core::c3), tsc), c6 = percent(core.increase(&Core::c6), tsc),
             c7 = percent(core.increase(&Core::c7), tsc);
  if (core.now().c1)
    state("c1", percent(core.increase(&Core::c1), tsc));
  else if (busy && c6)
    state("c1", std::max(100 - *busy - c3.value_or(0) - *c6 - c7.value_or(0), 0.0));
  state("c3", c3);
  state("c6", c6);
  state("c7", c7);
}

void MsrStates::emit_package(const procfs::Cpu &cpu, const procfs::Readings<Package> &package, Output &out) {
  using P = Package;
  Values &values = out.values();
  const auto tsc = package.increase(&P::tsc);
  const auto total = quotient(package.increase(&P::c0_total), tsc);
  if (total) values.set("sys.cpu.package.c0.total", 100 * *total);  // of several cores
  values.set("sys.cpu.package.c0.any", percent(package.increase(&P::c0_any), tsc));
  values.set("sys.cpu.package.c0.graphics", percent(package.increase(&P::c0_graphics), tsc));
  values.set("sys.cpu.package.c0.both", percent(package.increase(&P::c0_both), tsc));
  if (throttle_unit_s_ > 0) {
    const auto throttled = package.increase(&P::throttled), memory = package.increase(&P::memory_throttled);
    if (throttled) values.set("sys.cpu.throttled", percent(*throttled * throttle_unit_s_, package.seconds()));
    if (memory) values.set("sys.mem.throttled", percent(*memory * throttle_unit_s_, package.seconds()));
  }
  out.emit_package(cpu.package);
  struct Named {
    const char *name;
    procfs::Count P::*counter;
  };
  static constexpr Named kStates[] = {{"pc2", &P::pc2}, {"pc3", &P::pc3}, {"pc6", &P::pc6},  {"pc7", &P::pc7},
                                      {"pc8", &P::pc8}, {"pc9", &P::pc9}, {"pc10", &P::pc10}};
  for (const Named &state : kStates) {
    values.set("sys.cpu.package.cstate", percent(package.increase(state.counter), tsc));
    out.emit_package_state(cpu.package, state.name);
  }
}

void MsrStates::emit_temperatures(const CpuState &state, Output &out) {
  if (state.cpu.first_of_core) {
    out.values().set("sys.cpu.temp", celsius(msr_.read(state.cpu.number, kThermalStatus), state.max_celsius, false));
    out.emit_core(state.cpu.number);
  }
  if (!state.cpu.first_of_package) return;
  out.values().set("sys.cpu.temp", celsius(msr_.read(state.cpu.number, kPackageThermalStatus), state.max_celsius, true));
  out.emit_package(state.cpu.package);
}

}  // namespace atalaya::power
