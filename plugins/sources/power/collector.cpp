// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/collector.h"

#include <algorithm>
#include <map>
#include <utility>

namespace atalaya::power {
namespace {

constexpr double kMaxGpuWatts = 3000;

// The two metrics of a domain with values per package.
struct DomainNames {
  Domain domain;
  Values::Name energy, power;
};
constexpr DomainNames kDomains[] = {{Domain::package, "sys.cpu.energy", "sys.cpu.power"},
                                    {Domain::cores, "sys.cpu.cores.energy", "sys.cpu.cores.power"},
                                    {Domain::graphics, "sys.cpu.graphics.energy", "sys.cpu.graphics.power"},
                                    {Domain::memory, "sys.mem.energy", "sys.mem.power"},
                                    {Domain::platform, "sys.platform.energy", "sys.platform.power"}};

// The name of a process; empty when it has ended.
std::string process_name(const procfs::Tree &tree, uint32_t pid) {
  return tree.line("proc/" + std::to_string(pid) + "/comm");
}

}  // namespace

Collector::Collector(Host host, Options options, std::unique_ptr<Msr> msr, std::unique_ptr<Ipmi> ipmi)
    : host_(host),
      options_(std::move(options)),
      out_(host),
      tree_(options_.root),
      cpu_watch_(options_.root),
      msr_(msr ? std::move(msr) : std::make_unique<DeviceMsr>(tree_)),
      ipmi_(std::move(ipmi)),
      opens_ipmi_(ipmi_ == nullptr),
      cpu_states_(tree_, {options_.cstates, options_.interrupts}),
      msr_states_(*msr_),
      sensors_(tree_) {}

void Collector::start() {
  if (const core::Status opened = tree_.open(); !opened) throw Failure(Code::bad_config, opened.error());
  forget();
  cpu_watch_.start();
  const std::vector<procfs::Cpu> cpus = procfs::read_cpus(tree_);
  OpenedMeter opened = open_meter(options_.rapl, tree_, *msr_, cpus, Detail::cores);
  meter_ = std::move(opened.meter);
  if (!meter_ && options_.rapl != "off")
    log_missing("no energy of packages (RAPL): " + opened.how + (options_.model ? "" : "; set \"model\" to estimate it"));
  follow_cpus(cpus);
  log_missing_parts();
  if (options_.ipmi) open_ipmi();
  if (options_.gpus)
    if (const core::Status loaded = nvml_.open(options_.nvml); !loaded)
      log_missing("no NVIDIA GPUs: " + loaded.error(), Level::debug);
  if (options_.model) busy_ = std::make_unique<BusyTime>(tree_);
}

void Collector::follow_cpus() {
  if (!cpu_watch_.changed()) return;
  const std::vector<procfs::Cpu> cpus = procfs::read_cpus(tree_);
  if (meter_) change_meter(*meter_, options_.rapl, tree_, *msr_, cpus, Detail::cores);
  follow_cpus(cpus);
}

void Collector::follow_cpus(const std::vector<procfs::Cpu> &cpus) {
  cpu_states_.follow(cpus);
  msr_works_ = options_.msr && msr_states_.follow(cpus, read_cpu_model(tree_));
  if (options_.sensors) sensors_.follow(cpus);
}

void Collector::log_missing_parts() {
  if (!cpu_states_.has_frequencies())
    log_missing("no sys.cpu.mhz: " + tree_.full_path("sys/devices/system/cpu/cpu*/cpufreq") + " is missing");
  if (options_.cstates && !cpu_states_.has_cstates())
    log_missing("no sys.cpu.cstate: " + tree_.full_path("sys/devices/system/cpu/cpu*/cpuidle") + " is missing");
  if (options_.msr && !msr_works_)
    log_missing("no registers, so no sys.cpu.mhz.busy, sys.cpu.cstate.hardware and others: cannot read " +
                tree_.full_path("dev/cpu/*/msr") + "; it takes an Intel or AMD CPU, the module msr and CAP_SYS_RAWIO");
  if (options_.sensors && !sensors_.any())
    log_missing("no temperatures: neither " + tree_.full_path("sys/class/hwmon") + " nor " + tree_.full_path("sys/class/thermal") +
                " has sensors");
}

void Collector::open_ipmi() {
  if (opens_ipmi_) {
    auto device = std::make_unique<DeviceIpmi>();
    if (const core::Status opened = device->open(tree_); !opened)
      return log_missing("no power by IPMI: " + opened.error(), Level::debug);
    ipmi_ = std::move(device);
  }
  ipmi_works_ = read_power(*ipmi_).has_value();
  if (!ipmi_works_) log_missing("no power by IPMI: the controller does not respond to the DCMI power reading command");
}

// Once per start; a missing part is not an error. Most hosts have neither a controller nor a GPU.
void Collector::log_missing(const std::string &text, Level level) {
  host_.log(level, text);
}

void Collector::stop() {
  if (meter_) meter_->stop();
  nvml_.close();
}

void Collector::forget() {
  if (meter_) meter_->forget();
  if (busy_) busy_->forget();
  cpu_states_.forget();
  msr_states_.forget();
  sensors_.forget();
  gpu_energy_.forget();
}

void Collector::collect(const Window &window, Batch &batch) {
  const bool baseline = (window.flags & ATALAYA_WINDOW_BASELINE) != 0;
  follow_cpus();
  if (baseline) forget();
  out_.begin(batch);
  power_ = {};
  collect_energy(window, host_.monotonic());
  cpu_states_.collect(window.monotonic_ns, out_);
  if (msr_works_) msr_states_.collect(window.monotonic_ns, !sensors_.has_cpu_temperatures(), out_);
  if (options_.sensors) {
    sensors_.collect(window.monotonic_ns, out_);
    power_.meter = sensors_.meter_watts();
    power_.battery = sensors_.battery_watts();
  }
  if (ipmi_works_) power_.ipmi = read_power(*ipmi_);
  if (nvml_.is_open()) collect_gpus(window.monotonic_ns, baseline);
  emit_power();
}

void Collector::collect_energy(const Window &window, int64_t now_ns) {
  if (!meter_) return;
  meter_->start_polling(window.interval_ns);
  emit_energy(meter_->take(now_ns, window.monotonic_ns));
  if (!meter_->stopped_zone().empty() && !std::exchange(stopped_logged_, true))
    log_missing("the energy counter of " + meter_->stopped_zone() + " has stopped: no energy until it counts again");
}

void Collector::emit_energy(const std::vector<std::optional<Energy>> &energy) {
  const std::vector<Zone> &zones = meter_->zones();
  // The dies of a package are summed, if all are known.
  struct Sum {
    Energy energy;
    bool known = true;
  };
  std::map<std::pair<Domain, int32_t>, Sum> sums;
  for (size_t i = 0; i < zones.size(); ++i) {
    if (zones[i].domain == Domain::core) {
      if (!energy[i]) continue;
      out_.values().set("sys.core.energy", energy[i]->joules);
      out_.values().set("sys.core.power", energy[i]->watts());
      out_.emit_core(zones[i].core);
      continue;
    }
    Sum &sum = sums[{zones[i].domain, zones[i].package}];
    sum.known = sum.known && energy[i];
    if (energy[i]) sum.energy = {sum.energy.joules + energy[i]->joules, energy[i]->seconds};
  }
  std::optional<double> packages;
  bool all_packages = true;
  for (const auto &[key, sum] : sums) {
    const bool counts = key.first == Domain::package || key.first == Domain::memory;
    if (counts) all_packages = all_packages && sum.known;
    if (!sum.known) continue;
    if (counts) add_to_sum(packages, sum.energy.watts());
    if (key.first == Domain::platform) power_.platform = sum.energy.watts();
    for (const DomainNames &names : kDomains) {
      if (names.domain != key.first) continue;
      out_.values().set(names.energy, sum.energy.joules);
      out_.values().set(names.power, sum.energy.watts());
    }
    if (key.first == Domain::platform)
      out_.emit({});
    else
      out_.emit_package(key.second);
  }
  if (all_packages) power_.packages = packages;
}

// Emits the first meter with a value; the model only if there is no meter. Meters cover different parts of the host, so the tag
// `meter` separates their series.
void Collector::emit_power() {
  const std::pair<const char *, std::optional<double>> measured[] = {{"ipmi", power_.ipmi},
                                                                     {"meter", power_.meter},
                                                                     {"psys", power_.platform},
                                                                     {"battery", power_.battery},
                                                                     {"rapl", power_.packages}};
  for (const auto &[name, watts] : measured) {
    if (watts.value_or(0) <= 0) continue;  // a running host draws power: a meter with 0 W does not measure
    out_.values().set("sys.power", watts);
    return out_.emit_meter(name, false);
  }
  if (!busy_ || meter_) return;
  const auto busy = busy_->take();
  if (!busy) return;
  out_.values().set("sys.power", options_.model->watts(busy->share));
  out_.emit_meter("model", true);
}

void Collector::collect_gpus(int64_t now_ns, bool baseline) {
  gpu_energy_.begin(now_ns);
  for (const GpuReading &gpu : nvml_.read()) {
    Values &values = out_.values();
    values.set("gpu.usage", gpu.usage);
    values.set("gpu.mem.usage", gpu.memory_usage);
    values.set("gpu.mem.total", gpu.memory_total_mib);
    values.set("gpu.mem.used", gpu.memory_used_mib);
    values.set("gpu.power", gpu.power);
    values.set("gpu.temp", gpu.temperature);
    const auto counted = gpu_energy_.exchange(gpu.name, {gpu.energy_mj});
    const auto joules = counted.increase(&EnergyCount::millijoules);
    if (joules && *joules * 1e-3 <= kMaxGpuWatts * counted.seconds()) values.set("gpu.energy", *joules * 1e-3);
    out_.emit_gpu(gpu.name);
  }
  gpu_energy_.end();
  for (const GpuProcess &process : nvml_.read_processes()) {
    const std::string name = process_name(tree_, process.pid);
    if (name.empty()) continue;
    if (!baseline) out_.values().set("proc.gpu.usage", process.usage);  // the first values cover time before the window
    out_.values().set("proc.gpu.mem.used", process.memory_mib);
    out_.emit_gpu_process(process.pid, name, process.gpu);
  }
}

}  // namespace atalaya::power
