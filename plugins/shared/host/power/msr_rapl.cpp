// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/msr_rapl.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace atalaya::power {
namespace {

constexpr uint64_t kCounterRange = 0xffffffff;  // only 32 bits of the register count

constexpr uint32_t kIntelUnit = 0x606;
constexpr uint32_t kAmdUnit = 0xc0010299, kAmdCore = 0xc001029a, kAmdPackage = 0xc001029b;

struct Register {
  Domain domain;
  uint32_t address;
  const char *name;
};
constexpr std::array kIntelRegisters = {
    Register{Domain::package, 0x611, ""},     Register{Domain::cores, 0x639, " core"}, Register{Domain::graphics, 0x641, " uncore"},
    Register{Domain::memory, 0x619, " dram"}, Register{Domain::platform, 0x64d, ""},
};

template <size_t size>
bool is_one_of(const CpuModel &model, const std::array<int32_t, size> &models) {
  return model.vendor == Vendor::intel && model.family == 6 && std::find(models.begin(), models.end(), model.model) != models.end();
}

// Atom CPUs of Silvermont and Airmont: the unit is 2^field microjoules.
bool counts_microjoules(const CpuModel &model) {
  return is_one_of(model, std::array{0x37, 0x4a, 0x4c, 0x5a});
}
// Server CPUs whose unit of memory energy is 2^-16 J, regardless of the unit register: Haswell, Broadwell, Skylake, Xeon Phi, Ice
// Lake, Sapphire Rapids and later.
bool has_own_memory_unit(const CpuModel &model) {
  return is_one_of(model, std::array{0x3f, 0x4f, 0x56, 0x55, 0x57, 0x85, 0x6a, 0x6c, 0x8f, 0xcf, 0xad, 0xae});
}
// Server CPUs whose unit of platform energy is 1 J: Sapphire Rapids and later.
bool counts_platform_joules(const CpuModel &model) {
  return is_one_of(model, std::array{0x8f, 0xcf, 0xad, 0xae});
}

class MsrRapl final : public EnergyCounters {
 public:
  explicit MsrRapl(Msr &msr) : msr_(msr) {}
  const std::vector<Zone> &zones() const override { return zones_; }
  std::optional<uint64_t> read(size_t zone) override {
    const auto value = msr_.read(registers_[zone].first, registers_[zone].second);
    return value ? std::optional(*value & kCounterRange) : std::nullopt;
  }
  // Uses only readable registers. On CPUs without a domain its register is always 0.
  void add(Zone zone, int32_t cpu, uint32_t address) {
    const auto value = msr_.read(cpu, address);
    if (!value || *value == 0) return;
    zone.range = kCounterRange;
    zones_.push_back(std::move(zone));
    registers_.emplace_back(cpu, address);
  }

 private:
  Msr &msr_;
  std::vector<Zone> zones_;
  std::vector<std::pair<int32_t, uint32_t>> registers_;  // CPU, address
};

double joules_of(Domain domain, const RaplUnits &units, const CpuModel &model) {
  if (domain == Domain::memory && has_own_memory_unit(model)) return 1.0 / 65536;
  if (domain == Domain::platform && counts_platform_joules(model)) return 1;
  return units.joules;
}

// "package-0", and "package-0-die-1" with several dies, as in powercap.
std::string name_of(const procfs::Cpu &cpu, const std::vector<procfs::Cpu> &cpus) {
  const std::string package = "package-" + std::to_string(cpu.package);
  const bool several = std::any_of(cpus.begin(), cpus.end(), [&](const procfs::Cpu &other) {
    return other.package == cpu.package && other.first_of_die && !other.first_of_package;
  });
  return several ? package + "-die-" + std::to_string(cpu.die) : package;
}

// Each die has its own registers, but those of the platform have the same value on all dies.
void add_intel(MsrRapl &rapl, Msr &msr, const std::vector<procfs::Cpu> &cpus, const CpuModel &model) {
  for (const procfs::Cpu &cpu : cpus) {
    const auto unit = cpu.first_of_die ? msr.read(cpu.number, kIntelUnit) : std::nullopt;
    if (!unit) continue;
    const RaplUnits units = rapl_units(*unit, model);
    const std::string name = name_of(cpu, cpus);
    for (const Register &one : kIntelRegisters) {
      Zone zone{one.domain, cpu.package, -1, name + one.name, joules_of(one.domain, units, model)};
      if (one.domain == Domain::platform) {
        if (cpu.number != cpus.front().number) continue;
        zone.package = 0;
        zone.name = "psys";
        zone.max_watts = kMaxPlatformWatts;
      }
      rapl.add(std::move(zone), cpu.number, one.address);
    }
  }
}

void add_amd_packages(MsrRapl &rapl, Msr &msr, const std::vector<procfs::Cpu> &cpus, const CpuModel &model) {
  for (const procfs::Cpu &cpu : cpus) {
    const auto unit = cpu.first_of_package ? msr.read(cpu.number, kAmdUnit) : std::nullopt;
    if (!unit) continue;
    rapl.add({Domain::package, cpu.package, -1, "package-" + std::to_string(cpu.package), rapl_units(*unit, model).joules},
             cpu.number, kAmdPackage);
  }
}

void add_amd_cores(MsrRapl &rapl, Msr &msr, const std::vector<procfs::Cpu> &cpus, const CpuModel &model) {
  for (const procfs::Cpu &cpu : cpus) {
    const auto unit = cpu.first_of_core ? msr.read(cpu.number, kAmdUnit) : std::nullopt;
    if (!unit) continue;
    const std::string name = "package-" + std::to_string(cpu.package) + " core of CPU " + std::to_string(cpu.number);
    rapl.add({Domain::core, cpu.package, cpu.number, name, rapl_units(*unit, model).joules}, cpu.number, kAmdCore);
  }
}

}  // namespace

RaplUnits rapl_units(uint64_t unit_register, const CpuModel &model) {
  const auto power_of_two = [](uint64_t exponent) { return static_cast<double>(uint64_t{1} << exponent); };
  RaplUnits units;
  units.joules =
      counts_microjoules(model) ? power_of_two(bits(unit_register, 8, 12)) * 1e-6 : 1 / power_of_two(bits(unit_register, 8, 12));
  units.seconds = 1 / power_of_two(bits(unit_register, 16, 19));
  return units;
}

OpenedCounters open_msr_rapl(Msr &msr, const std::vector<procfs::Cpu> &cpus, const CpuModel &model, Detail detail) {
  auto rapl = std::make_unique<MsrRapl>(msr);
  if (model.vendor == Vendor::intel) {
    add_intel(*rapl, msr, cpus, model);
  } else if (model.vendor == Vendor::amd) {
    add_amd_packages(*rapl, msr, cpus, model);
    if (detail == Detail::cores) add_amd_cores(*rapl, msr, cpus, model);
  } else {
    return {nullptr, "the CPU is neither from Intel nor from AMD"};
  }
  if (rapl->zones().empty())
    return {nullptr,
            "cannot read RAPL registers from /dev/cpu/*/msr: load the module msr and grant CAP_SYS_RAWIO; virtual machines have "
            "none"};
  return {std::move(rapl), ""};
}

std::unique_ptr<EnergyCounters> open_amd_cores(Msr &msr, const std::vector<procfs::Cpu> &cpus, const CpuModel &model) {
  if (model.vendor != Vendor::amd) return nullptr;
  auto rapl = std::make_unique<MsrRapl>(msr);
  add_amd_cores(*rapl, msr, cpus, model);
  if (rapl->zones().empty()) return nullptr;
  return rapl;
}

}  // namespace atalaya::power
