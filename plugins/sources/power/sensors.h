// SPDX-License-Identifier: Apache-2.0
// Sensors of boards and drivers (hwmon), thermal zones and batteries: Documentation/hwmon/sysfs-interface.rst,
// Documentation/driver-api/thermal/sysfs-api.rst, Documentation/power/power_supply_class.rst.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/host/power/numbers.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/shared/host/procfs/host_counters.h"
#include "plugins/sources/power/output.h"

namespace atalaya::power {

class Sensors {
 public:
  explicit Sensors(const procfs::Tree &tree) : tree_(tree) {}

  // Searches for sensors; sensors that were found before keep their state.
  void follow(const std::vector<procfs::Cpu> &cpus);
  void forget();
  void collect(int64_t now_ns, Output &out);

  bool any() const { return !sensors_.empty() || !zones_.empty(); }
  // Returns true if a driver reports CPU temperatures.
  bool has_cpu_temperatures() const { return cpu_temperatures_; }
  // Both are from the last collection: watts of the host's meters, and of all batteries while they discharge.
  std::optional<double> meter_watts() const { return meter_watts_; }
  std::optional<double> battery_watts() const { return battery_watts_; }

 private:
  enum class Type : uint8_t { temperature, power, energy, fan };
  struct Kind {
    Type type;
    const char *prefix;
  };
  static constexpr Kind kKinds[] = {
      {Type::temperature, "temp"}, {Type::power, "power"}, {Type::energy, "energy"}, {Type::fan, "fan"}};
  struct Counted {
    procfs::Count microjoules;
  };
  struct Sensor {
    Type type;
    std::string chip, name;
    NumberFile file;
    bool meter = false;               // whether it measures the complete host
    int32_t core = -1, package = -1;  // core and package of a CPU temperature sensor
    procfs::Last<Counted> last{};
  };
  struct Zone {
    std::string type;
    NumberFile temperature;
  };
  struct Battery {
    std::string name, folder;
    NumberFile capacity, power, current, voltage;
  };

  // The sensors of a CPU driver: sensors_[first] to sensors_[end - 1].
  struct CpuChip {
    std::string device;
    size_t first, end;
  };

  void find_chips(const std::vector<procfs::Cpu> &cpus);
  std::optional<CpuChip> find_chip(const std::string &folder, const std::string &driver);
  void find_zones();
  void find_batteries();
  void find_channels(const std::string &folder, const Kind &kind, std::vector<Sensor> &found);
  void assign_intel_cores(const std::vector<CpuChip> &chips, const std::vector<procfs::Cpu> &cpus);
  void assign_amd_packages(const std::vector<CpuChip> &chips, const std::vector<procfs::Cpu> &cpus);
  void collect_sensor(Sensor &sensor, int64_t now_ns, Output &out);
  void collect_battery(Battery &battery, Output &out);

  const procfs::Tree &tree_;
  std::vector<Sensor> sensors_;
  std::vector<Zone> zones_;
  std::vector<Battery> batteries_;
  bool cpu_temperatures_ = false;
  std::map<int32_t, double> hottest_;  // hottest temperature by package, in this collection
  std::optional<double> meter_watts_, battery_watts_;
};

}  // namespace atalaya::power
