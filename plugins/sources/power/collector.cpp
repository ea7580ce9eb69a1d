// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/collector.h"

#include <algorithm>
#include <map>
#include <utility>

namespace atalaya::power {
namespace {

constexpr double kMostGpuWatts = 3000;

// The two metrics of a domain that is told by package.
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
std::string process_name(const core::Tree &tree, uint32_t pid) {
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
      own_ipmi_(ipmi_ == nullptr),
      cpu_states_(tree_, {options_.cstates, options_.interrupts}),
      msr_states_(*msr_),
      sensors_(tree_) {}

void Collector::start() {
  if (const core::Status opened = tree_.open(); !opened) throw Failure(Code::bad_config, opened.error());
  forget();
  cpu_watch_.start();
  const std::vector<cpus::Cpu> cpus = cpus::read_cpus(tree_);
  OpenedMeter opened = open_meter(options_.rapl, tree_, *msr_, cpus, Detail::cores);
  meter_ = std::move(opened.meter);
  if (!meter_ && options_.rapl != "off")
    tell("no energy of packages (RAPL): " + opened.how + (options_.model ? "" : "; give \"model\" to estimate it"));
  follow_cpus(cpus);
  tell_absent();
  if (options_.ipmi) open_ipmi();
  if (options_.gpus)
    if (const std::string wrong = nvml_.open(options_.nvml); !wrong.empty()) tell("no NVIDIA GPUs: " + wrong, Level::debug);
  if (options_.model) busy_ = std::make_unique<BusyTime>(tree_);
}

void Collector::follow_cpus() {
  if (!cpu_watch_.changed()) return;
  const std::vector<cpus::Cpu> cpus = cpus::read_cpus(tree_);
  if (meter_) change_meter(*meter_, options_.rapl, tree_, *msr_, cpus, Detail::cores);
  follow_cpus(cpus);
}

void Collector::follow_cpus(const std::vector<cpus::Cpu> &cpus) {
  cpu_states_.follow(cpus);
  msr_works_ = options_.msr && msr_states_.follow(cpus, read_cpu_model(tree_));
  if (options_.sensors) sensors_.follow(cpus);
}

void Collector::tell_absent() {
  if (!cpu_states_.has_frequencies())
    tell("no sys.cpu.mhz: " + tree_.named("sys/devices/system/cpu/cpu*/cpufreq") + " is not there");
  if (options_.cstates && !cpu_states_.has_cstates())
    tell("no sys.cpu.cstate: " + tree_.named("sys/devices/system/cpu/cpu*/cpuidle") + " is not there");
  if (options_.msr && !msr_works_)
    tell("no registers (sys.cpu.mhz.busy and sys.cpu.cstate.hardware among them): " + tree_.named("dev/cpu/*/msr") +
         " cannot be read; it takes an Intel or AMD CPU, the module msr and CAP_SYS_RAWIO");
  if (options_.sensors && !sensors_.any())
    tell("no temperatures: neither " + tree_.named("sys/class/hwmon") + " nor " + tree_.named("sys/class/thermal") +
         " has sensors");
}

void Collector::open_ipmi() {
  if (own_ipmi_) {
    auto device = std::make_unique<DeviceIpmi>();
    if (const std::string wrong = device->open(tree_); !wrong.empty()) return tell("no power by IPMI: " + wrong, Level::debug);
    ipmi_ = std::move(device);
  }
  ipmi_answers_ = read_power(*ipmi_).has_value();
  if (!ipmi_answers_) tell("no power by IPMI: the controller does not answer DCMI's question for its power reading");
}

// Once a start: what this host has not is no fault. Most have neither a controller nor a GPU.
void Collector::tell(const std::string &what_is_absent, Level level) {
  host_.log(level, what_is_absent);
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
  cpu_states_.collect(host_.monotonic(), out_);
  if (msr_works_) msr_states_.collect(host_.monotonic(), !sensors_.has_cpu_temperatures(), out_);
  if (options_.sensors) {
    sensors_.collect(host_.monotonic(), out_);
    power_.meter = sensors_.meter_watts();
    power_.battery = sensors_.battery_watts();
  }
  if (ipmi_answers_) power_.ipmi = read_power(*ipmi_);
  if (nvml_.is_open()) collect_gpus(host_.monotonic(), baseline);
  emit_power();
}

void Collector::collect_energy(const Window &window, int64_t now_ns) {
  if (!meter_) return;
  meter_->keep_up(window.interval_ns);
  emit_energy(meter_->take(now_ns));
  if (!meter_->still().empty() && !std::exchange(still_told_, true))
    tell("the energy counter of " + meter_->still() + " stands still: it has no energy while it does");
}

void Collector::emit_energy(const std::vector<std::optional<Energy>> &energy) {
  const std::vector<Zone> &zones = meter_->zones();
  // Dies of one package are one, where all of them are known.
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
      out_.core(zones[i].core);
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
    if (counts) add_up(packages, sum.energy.watts());
    if (key.first == Domain::platform) power_.platform = sum.energy.watts();
    for (const DomainNames &names : kDomains) {
      if (names.domain != key.first) continue;
      out_.values().set(names.energy, sum.energy.joules);
      out_.values().set(names.power, sum.energy.watts());
    }
    if (key.first == Domain::platform)
      out_.emit({});
    else
      out_.package(key.second);
  }
  if (all_packages) power_.packages = packages;
}

// The first of these that says something; a model only where nothing measures. Where one falls out for a window the next best would
// be of something else: the tag keeps them apart.
void Collector::emit_power() {
  const std::pair<const char *, std::optional<double>> measured[] = {{"ipmi", power_.ipmi},
                                                                     {"meter", power_.meter},
                                                                     {"psys", power_.platform},
                                                                     {"battery", power_.battery},
                                                                     {"rapl", power_.packages}};
  for (const auto &[name, watts] : measured) {
    if (watts.value_or(0) <= 0) continue;  // a host that runs draws something: what says 0 W does not measure
    out_.values().set("sys.power", watts);
    return out_.meter(name, false);
  }
  if (!busy_ || meter_) return;
  const auto busy = busy_->take();
  if (!busy) return;
  out_.values().set("sys.power", options_.model->watts(busy->share));
  out_.meter("model", true);
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
    if (joules && *joules * 1e-3 <= kMostGpuWatts * counted.seconds()) values.set("gpu.energy", *joules * 1e-3);
    out_.gpu(gpu.name);
  }
  gpu_energy_.end();
  for (const GpuProcess &process : nvml_.read_processes()) {
    const std::string name = process_name(tree_, process.pid);
    if (name.empty()) continue;
    if (!baseline) out_.values().set("proc.gpu.usage", process.usage);  // the first ones reach back to before the window
    out_.values().set("proc.gpu.mem.used", process.memory_mib);
    out_.gpu_process(process.pid, name, process.gpu);
  }
}

}  // namespace atalaya::power
