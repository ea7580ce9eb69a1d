// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/sensors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace atalaya::power {
namespace {

constexpr const char *kHwmon = "sys/class/hwmon/";
constexpr const char *kThermal = "sys/class/thermal/";
constexpr const char *kSupply = "sys/class/power_supply/";

// Limits of plausible readings: others come from unconnected or faulty sensors.
constexpr double kColdest = -100, kHottest = 250, kMaxSensorWatts = 100000;
constexpr double kMinHostWatts = 1e-6;  // the smallest reading above 0: a running host draws power

std::optional<double> between(std::optional<double> value, double minimum, double maximum) {
  return value && *value >= minimum && *value <= maximum ? value : std::nullopt;
}

// Whether the driver measures the power of the whole host: ACPI's power meter, and that of early IBM servers.
bool measures_host(const std::string &driver) {
  return driver == "power_meter" || driver == "aem1";
}

// Makes a unique name for a sensor whose name exists already.
template <class Entries, class Name>
std::string unique(std::string name, const Entries &entries, const Name &name_of) {
  const std::string base = name;
  const auto taken = [&] { return std::any_of(entries.begin(), entries.end(), [&](const auto &e) { return name_of(e) == name; }); };
  for (int i = 2; taken(); ++i) name = base + "-" + std::to_string(i);
  return name;
}

// Returns the first CPU of each die or package, in ascending order.
std::vector<procfs::Cpu> firsts(const std::vector<procfs::Cpu> &cpus, bool procfs::Cpu::*is_first) {
  std::vector<procfs::Cpu> found;
  std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(found), [&](const procfs::Cpu &cpu) { return cpu.*is_first; });
  std::sort(found.begin(), found.end(),
            [](const procfs::Cpu &a, const procfs::Cpu &b) { return std::pair(a.package, a.die) < std::pair(b.package, b.die); });
  return found;
}

}  // namespace

void Sensors::follow(const std::vector<procfs::Cpu> &cpus) {
  std::map<std::pair<std::string, std::string>, procfs::Last<Counted>> known;
  for (const Sensor &sensor : sensors_) known.emplace(std::pair(sensor.chip, sensor.name), sensor.last);
  sensors_.clear();
  find_chips(cpus);
  for (Sensor &sensor : sensors_) sensor.last = known[{sensor.chip, sensor.name}];
  find_zones();
  find_batteries();
}

void Sensors::find_chips(const std::vector<procfs::Cpu> &cpus) {
  std::vector<CpuChip> intel, amd;
  for (const std::string &entry : tree_.list(kHwmon, "hwmon").names) {
    const std::string folder = kHwmon + entry + "/", driver = tree_.line(folder + "name");
    const auto chip = driver.empty() ? std::nullopt : find_chip(folder, driver);
    if (chip && driver == "coretemp") intel.push_back(*chip);
    if (chip && (driver == "k10temp" || driver == "zenpower")) amd.push_back(*chip);
  }
  const auto by_device = [](const CpuChip &a, const CpuChip &b) {
    return std::pair(a.device.size(), a.device) < std::pair(b.device.size(), b.device);
  };
  std::sort(intel.begin(), intel.end(), by_device);
  std::sort(amd.begin(), amd.end(), by_device);
  cpu_temperatures_ = false;
  assign_intel_cores(intel, cpus);
  assign_amd_packages(amd, cpus);
}

// Finds the sensors of a CPU driver; absent if it has none.
std::optional<Sensors::CpuChip> Sensors::find_chip(const std::string &folder, const std::string &driver) {
  // hwmonN may change with a reboot; the device does not.
  const std::string device = tree_.link_name(folder + "device");
  const std::string base = device.empty() ? driver : device.starts_with(driver) ? device : driver + "-" + device;
  const std::string chip = unique(base, sensors_, [](const Sensor &sensor) { return sensor.chip; });
  std::vector<Sensor> found;
  for (const Kind &kind : kKinds) find_channels(folder, kind, found);
  for (Sensor &sensor : found) {
    sensor.chip = chip;
    sensor.meter = sensor.type == Type::power && measures_host(driver);
  }
  const size_t first = sensors_.size();
  std::move(found.begin(), found.end(), std::back_inserter(sensors_));
  return sensors_.size() > first ? std::optional(CpuChip{device, first, sensors_.size()}) : std::nullopt;
}

// Finds the channels and their files: the current value, or else the driver's mean.
void Sensors::find_channels(const std::string &folder, const Kind &kind, std::vector<Sensor> &found) {
  std::vector<std::string> channels;
  for (const std::string &file : tree_.list(folder, kind.prefix).names) {
    const std::string channel = file.substr(0, file.find('_'));
    if (number_after(channel, kind.prefix) && std::find(channels.begin(), channels.end(), channel) == channels.end())
      channels.push_back(channel);
  }
  for (const std::string &channel : channels) {
    std::string file = folder + channel + "_input";
    if (tree_.line(file).empty() && kind.type == Type::power) file = folder + channel + "_average";
    if (tree_.line(file).empty()) continue;
    const std::string label = tree_.line(folder + channel + "_label");
    Sensor sensor{.type = kind.type,
                  .chip = {},
                  .name = unique(label.empty() ? channel : label, found, [](const Sensor &other) { return other.name; }),
                  .file = NumberFile(file)};
    found.push_back(std::move(sensor));
  }
}

// coretemp.N is the host's die N, in the order of packages, and its label "Package id N" repeats that number; "Core" is the core's
// id. If offline CPUs hide a die, or a die has no sensors, the mapping is unknown.
void Sensors::assign_intel_cores(const std::vector<CpuChip> &chips, const std::vector<procfs::Cpu> &cpus) {
  const std::vector<procfs::Cpu> dies = firsts(cpus, &procfs::Cpu::first_of_die);
  if (chips.size() != dies.size()) return;
  for (size_t i = 0; i < chips.size(); ++i) {
    for (size_t at = chips[i].first; at < chips[i].end; ++at) {
      Sensor &sensor = sensors_[at];
      if (sensor.name.starts_with("Package id ")) sensor.package = dies[i].package;
      const auto core = number_after(sensor.name, "Core ");
      for (const procfs::Cpu &cpu : cpus)
        if (core && cpu.first_of_core && cpu.package == dies[i].package && cpu.die == dies[i].die && cpu.core_id == *core)
          sensor.core = cpu.number;
      cpu_temperatures_ = cpu_temperatures_ || sensor.core >= 0 || sensor.package >= 0;
    }
  }
}

// One device per package, before Zen 2 per die. Tdie is its temperature; Tctl, which controls fans, is used without Tdie.
void Sensors::assign_amd_packages(const std::vector<CpuChip> &chips, const std::vector<procfs::Cpu> &cpus) {
  std::vector<procfs::Cpu> owners = firsts(cpus, &procfs::Cpu::first_of_package);
  if (chips.size() != owners.size()) owners = firsts(cpus, &procfs::Cpu::first_of_die);
  if (chips.size() != owners.size()) return;
  for (size_t i = 0; i < chips.size(); ++i) {
    const auto first = sensors_.begin() + static_cast<ptrdiff_t>(chips[i].first),
               end = sensors_.begin() + static_cast<ptrdiff_t>(chips[i].end);
    for (const char *name : {"Tdie", "Tctl", "temp1"}) {
      const auto sensor = std::find_if(first, end, [&](const Sensor &one) { return one.name == name; });
      if (sensor == end) continue;
      sensor->package = owners[i].package;
      cpu_temperatures_ = true;
      break;
    }
  }
}

void Sensors::find_zones() {
  zones_.clear();
  for (const std::string &entry : tree_.list(kThermal, "thermal_zone").names) {
    const std::string folder = kThermal + entry + "/";
    const std::string type = tree_.line(folder + "type");
    if (type.empty()) continue;
    zones_.push_back({unique(type, zones_, [](const Zone &zone) { return zone.type; }), NumberFile(folder + "temp")});
  }
}

void Sensors::find_batteries() {
  batteries_.clear();
  for (const std::string &entry : tree_.list(kSupply).names) {
    const std::string folder = kSupply + entry + "/";
    // Batteries of mice and keyboards do not supply the host.
    if (tree_.line(folder + "type") != "Battery" || tree_.line(folder + "scope") == "Device") continue;
    batteries_.push_back({entry, folder, NumberFile(folder + "capacity"), NumberFile(folder + "power_now"),
                          NumberFile(folder + "current_now"), NumberFile(folder + "voltage_now")});
  }
}

void Sensors::forget() {
  for (Sensor &sensor : sensors_) sensor.last.forget();
}

void Sensors::collect(int64_t now_ns, Output &out) {
  meter_watts_.reset();
  battery_watts_.reset();
  hottest_.clear();
  for (Sensor &sensor : sensors_) collect_sensor(sensor, now_ns, out);
  for (const auto &[package, celsius] : hottest_) {
    out.values().set("sys.cpu.temp", celsius);
    out.emit_package(package);
  }
  for (Zone &zone : zones_) {
    out.values().set("sys.thermal.temp", between(scaled(zone.temperature.read(tree_), 1e-3), kColdest, kHottest));
    out.emit_zone(zone.type);
  }
  for (Battery &battery : batteries_) collect_battery(battery, out);
}

void Sensors::collect_sensor(Sensor &sensor, int64_t now_ns, Output &out) {
  const auto value = sensor.file.read(tree_);
  if (sensor.type == Type::temperature) {
    const auto celsius = between(scaled(value, 1e-3), kColdest, kHottest);
    out.values().set("sys.sensor.temp", celsius);
    out.emit_sensor(sensor.chip, sensor.name);
    if (!celsius) return;
    if (sensor.package >= 0) {
      double &hottest = hottest_.try_emplace(sensor.package, *celsius).first->second;
      hottest = std::max(hottest, *celsius);
    }
    if (sensor.core < 0) return;
    out.values().set("sys.cpu.temp", celsius);
    return out.emit_core(sensor.core);
  }
  if (sensor.type == Type::power) {
    const auto watts = between(scaled(value, 1e-6), sensor.meter ? kMinHostWatts : 0, kMaxSensorWatts);
    if (watts && sensor.meter) add_to_sum(meter_watts_, *watts);
    out.values().set("sys.sensor.power", watts);
  } else if (sensor.type == Type::fan) {
    out.values().set("sys.sensor.fan", between(scaled(value, 1), 0, 1e6));
  } else {
    const auto counted = sensor.last.exchange({count_of(value)}, now_ns);
    const auto joules = counted.increase(&Counted::microjoules);
    if (joules && *joules * 1e-6 <= kMaxSensorWatts * counted.seconds()) out.values().set("sys.sensor.energy", *joules * 1e-6);
  }
  out.emit_sensor(sensor.chip, sensor.name);
}

void Sensors::collect_battery(Battery &battery, Output &out) {
  std::optional<double> watts = scaled(battery.power.read(tree_), 1e-6);
  if (!watts) {
    const auto current = scaled(battery.current.read(tree_), 1e-6), voltage = scaled(battery.voltage.read(tree_), 1e-6);
    if (current && voltage) watts = *current * *voltage;
  }
  const std::string status = tree_.line(battery.folder + "status");
  // Drivers differ in the sign; the status has the direction. Without current, some repeat the last reading.
  const bool discharging = status == "Discharging", charging = status == "Charging";
  if (watts && discharging) watts = std::abs(*watts);
  if (watts && charging) watts = -std::abs(*watts);
  if (!discharging && !charging) watts.reset();
  if (watts && discharging && *watts > 0) add_to_sum(battery_watts_, *watts);
  out.values().set("sys.battery.power", watts);
  out.values().set("sys.battery.charge", between(scaled(battery.capacity.read(tree_), 1), 0, 100));
  out.emit_battery(battery.name);
}

}  // namespace atalaya::power
