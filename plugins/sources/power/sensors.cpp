// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/sensors.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace atalaya::power {
namespace {

constexpr const char *kHwmon = "sys/class/hwmon/";
constexpr const char *kThermal = "sys/class/thermal/";
constexpr const char *kSupply = "sys/class/power_supply/";

// What no sensor of a host measures: such a reading is of one that is not connected, or is none.
constexpr double kColdest = -100, kHottest = 250, kMostSensorWatts = 100000;

std::optional<double> between(std::optional<double> value, double least, double most) {
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

std::optional<double> scaled(std::optional<int64_t> value, double scale) {
  return value ? std::optional(static_cast<double>(*value) * scale) : std::nullopt;
}

void add_up(std::optional<double> &sum, double more) {
  sum = sum.value_or(0) + more;
}

// The driver of the chip measures what the whole host draws: ACPI's power meter, IBM's servers.
bool measures_host(const std::string &driver) {
  return driver == "power_meter" || driver == "aem" || driver == "ibmaem";
}

// The name that a second one of the same gets.
template <class Entries, class Name>
std::string unique(std::string name, const Entries &entries, const Name &name_of) {
  const std::string base = name;
  const auto taken = [&] { return std::any_of(entries.begin(), entries.end(), [&](const auto &e) { return name_of(e) == name; }); };
  for (int i = 2; taken(); ++i) name = base + "-" + std::to_string(i);
  return name;
}

}  // namespace

void Sensors::start(const std::vector<Cpu> &cpus) {
  sensors_.clear();
  amd_packages_ = 0;
  cpu_temperatures_ = false;
  for (const std::string &entry : tree_.entries(kHwmon, "hwmon")) find_chip(kHwmon + entry + "/", cpus);
  find_zones();
  find_batteries();
}

void Sensors::find_chip(const std::string &folder, const std::vector<Cpu> &cpus) {
  const auto driver = tree_.text(folder + "name");
  if (!driver) return;
  // hwmonN is another one after the next start; the device is not.
  const std::string device = tree_.link_name(folder + "device").value_or("");
  const std::string base = device.empty() ? *driver : device.starts_with(*driver) ? device : *driver + "-" + device;
  const std::string chip = unique(base, sensors_, [](const Sensor &sensor) { return sensor.chip; });
  std::vector<Sensor> found;
  for (const Kind &kind : kKinds) find_channels(folder, kind, found);
  for (Sensor &sensor : found) {
    sensor.chip = chip;
    sensor.meter = sensor.type == Type::power && measures_host(*driver);
  }
  if (*driver == "coretemp") place_intel(number_after(device, "coretemp.").value_or(0), cpus, found);
  if (*driver == "k10temp" || *driver == "zenpower") place_amd(found);
  std::move(found.begin(), found.end(), std::back_inserter(sensors_));
}

// A channel's file is its number of now or, where that is not, the driver's mean.
void Sensors::find_channels(const std::string &folder, const Kind &kind, std::vector<Sensor> &found) {
  std::vector<std::string> channels;
  for (const std::string &file : tree_.entries(folder, kind.prefix)) {
    const std::string channel = file.substr(0, file.find('_'));
    if (number_after(channel, kind.prefix) && std::find(channels.begin(), channels.end(), channel) == channels.end())
      channels.push_back(channel);
  }
  for (const std::string &channel : channels) {
    std::string file = folder + channel + "_input";
    if (!tree_.text(file) && kind.type == Type::power) file = folder + channel + "_average";
    if (!tree_.text(file)) continue;
    const std::string label = tree_.text(folder + channel + "_label").value_or("");
    Sensor sensor{.type = kind.type,
                  .chip = {},
                  .name = unique(label.empty() ? channel : label, found, [](const Sensor &other) { return other.name; }),
                  .file = NumberFile(file)};
    found.push_back(std::move(sensor));
  }
}

// coretemp.N is package N, its labels are "Package id N" and "Core <core id>".
void Sensors::place_intel(int32_t package, const std::vector<Cpu> &cpus, std::vector<Sensor> &found) {
  for (Sensor &sensor : found) {
    if (sensor.name.starts_with("Package id ")) sensor.package = package;
    const auto core = number_after(sensor.name, "Core ");
    for (const Cpu &cpu : cpus)
      if (core && cpu.first_of_core && cpu.package == package && cpu.core_id == *core) sensor.core = cpu.number;
    cpu_temperatures_ = cpu_temperatures_ || sensor.core >= 0 || sensor.package >= 0;
  }
}

// A device a package. Tdie is its temperature; Tctl, which fans follow, is where there is no other.
void Sensors::place_amd(std::vector<Sensor> &found) {
  for (const char *name : {"Tdie", "Tctl", "temp1"}) {
    const auto sensor = std::find_if(found.begin(), found.end(), [&](const Sensor &one) { return one.name == name; });
    if (sensor == found.end()) continue;
    sensor->package = amd_packages_++;
    cpu_temperatures_ = true;
    return;
  }
}

void Sensors::find_zones() {
  zones_.clear();
  for (const std::string &entry : tree_.entries(kThermal, "thermal_zone")) {
    const std::string folder = kThermal + entry + "/";
    const auto type = tree_.text(folder + "type");
    if (!type || type->empty()) continue;
    zones_.push_back({unique(*type, zones_, [](const Zone &zone) { return zone.type; }), NumberFile(folder + "temp")});
  }
}

void Sensors::find_batteries() {
  batteries_.clear();
  for (const std::string &entry : tree_.entries(kSupply, "")) {
    const std::string folder = kSupply + entry + "/";
    // Those of mice and keyboards feed no host.
    if (tree_.text(folder + "type") != "Battery" || tree_.text(folder + "scope") == "Device") continue;
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
  for (Sensor &sensor : sensors_) collect_sensor(sensor, now_ns, out);
  for (Zone &zone : zones_) {
    out.values().set("sys.thermal.temp", between(scaled(zone.temperature.read(tree_), 1e-3), kColdest, kHottest));
    out.zone(zone.type);
  }
  for (Battery &battery : batteries_) collect_battery(battery, out);
}

void Sensors::collect_sensor(Sensor &sensor, int64_t now_ns, Output &out) {
  const auto value = sensor.file.read(tree_);
  if (sensor.type == Type::temperature) {
    const auto celsius = between(scaled(value, 1e-3), kColdest, kHottest);
    out.values().set("sys.sensor.temp", celsius);
    out.sensor(sensor.chip, sensor.name);
    if (sensor.core < 0 && sensor.package < 0) return;
    out.values().set("sys.cpu.temp", celsius);
    if (sensor.core >= 0) return out.core(sensor.core);
    return out.package(sensor.package);
  }
  if (sensor.type == Type::power) {
    const auto watts = between(scaled(value, 1e-6), 0, kMostSensorWatts);
    if (watts && sensor.meter) add_up(meter_watts_, *watts);
    out.values().set("sys.sensor.power", watts);
  } else if (sensor.type == Type::fan) {
    out.values().set("sys.sensor.fan", between(scaled(value, 1), 0, 1e6));
  } else {
    const proc::Count now = value && *value >= 0 ? proc::Count(static_cast<uint64_t>(*value)) : std::nullopt;
    const auto counted = sensor.last.exchange({now}, now_ns);
    const auto joules = counted.increase(&Counted::microjoules);
    if (joules && *joules * 1e-6 <= kMostSensorWatts * counted.seconds()) out.values().set("sys.sensor.energy", *joules * 1e-6);
  }
  out.sensor(sensor.chip, sensor.name);
}

void Sensors::collect_battery(Battery &battery, Output &out) {
  std::optional<double> watts = scaled(battery.power.read(tree_), 1e-6);
  if (!watts) {
    const auto current = scaled(battery.current.read(tree_), 1e-6), voltage = scaled(battery.voltage.read(tree_), 1e-6);
    if (current && voltage) watts = *current * *voltage;
  }
  const auto status = tree_.text(battery.folder + "status");
  // Drivers differ in the sign; the status says which way it goes. At rest some repeat the last reading.
  const bool discharging = status == "Discharging", charging = status == "Charging";
  if (watts && discharging) watts = std::abs(*watts);
  if (watts && charging) watts = -std::abs(*watts);
  if (!discharging && !charging) watts.reset();
  if (watts && discharging && *watts > 0) add_up(battery_watts_, *watts);
  out.values().set("sys.battery.power", watts);
  out.values().set("sys.battery.charge", between(scaled(battery.capacity.read(tree_), 1), 0, 100));
  out.battery(battery.name);
}

}  // namespace atalaya::power
