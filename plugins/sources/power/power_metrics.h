// SPDX-License-Identifier: Apache-2.0
// The metrics of the source "power". One sample per host, package, core, C-state, sensor, battery and GPU, and per process on a
// GPU.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/shared/io/samples/metric_values.h"

namespace atalaya::power {

inline constexpr MetricTag kMeterTags[] = {metric::identity("meter"), metric::identity("quality")};
inline constexpr MetricTag kPackageTags[] = {metric::identity("package")};
inline constexpr MetricTag kCoreTags[] = {metric::identity("core")};
inline constexpr MetricTag kPackageOrCoreTags[] = {metric::identity("package"), metric::identity("core")};
inline constexpr MetricTag kStateTags[] = {metric::identity("core"), metric::identity("state")};
inline constexpr MetricTag kPackageStateTags[] = {metric::identity("package"), metric::identity("state")};
inline constexpr MetricTag kSensorTags[] = {metric::identity("chip"), metric::identity("sensor")};
inline constexpr MetricTag kZoneTags[] = {metric::identity("zone")};
inline constexpr MetricTag kBatteryTags[] = {metric::identity("battery")};
inline constexpr MetricTag kGpuTags[] = {metric::identity("gpu")};
inline constexpr MetricTag kGpuProcessTags[] = {metric::identity("pid"), metric::identity("process"), metric::identity("gpu")};

// clang-format off
inline constexpr std::array kPowerMetrics = {
    metric::gauge("sys.power", "W", 2, kMeterTags, "the best of IPMI, hwmon power_meter, RAPL psys, battery, RAPL package + dram", "Power of the host; the tag meter names the meter, and so the part of the host that it covers"),

    metric::delta("sys.cpu.energy", "J", 4, kPackageTags, "powercap package-N energy_uj, MSR 611h, C001029Bh", "Energy of the package in the window"),
    metric::rate("sys.cpu.power", "W", 3, kPackageTags, "powercap package-N energy_uj, MSR 611h, C001029Bh", "Mean power of the package"),
    metric::delta("sys.cpu.cores.energy", "J", 4, kPackageTags, "powercap core energy_uj, MSR 639h", "Energy of all cores of the package, a part of sys.cpu.energy"),
    metric::rate("sys.cpu.cores.power", "W", 3, kPackageTags, "powercap core energy_uj, MSR 639h", "Mean power of all cores of the package, a part of sys.cpu.power"),
    metric::delta("sys.cpu.graphics.energy", "J", 4, kPackageTags, "powercap uncore energy_uj, MSR 641h", "Energy of the graphics in the package, a part of sys.cpu.energy"),
    metric::rate("sys.cpu.graphics.power", "W", 3, kPackageTags, "powercap uncore energy_uj, MSR 641h", "Mean power of the graphics in the package, a part of sys.cpu.power"),
    metric::delta("sys.core.energy", "J", 4, kCoreTags, "MSR C001029Ah", "Energy of a core of an AMD CPU, a part of sys.cpu.energy; the tag core is its lowest CPU"),
    metric::rate("sys.core.power", "W", 3, kCoreTags, "MSR C001029Ah", "Mean power of a core of an AMD CPU, a part of sys.cpu.power"),
    metric::delta("sys.mem.energy", "J", 4, kPackageTags, "powercap dram energy_uj, MSR 619h", "Energy of the package's memory, not a part of sys.cpu.energy"),
    metric::rate("sys.mem.power", "W", 3, kPackageTags, "powercap dram energy_uj, MSR 619h", "Mean power of the package's memory, not a part of sys.cpu.power"),
    metric::delta("sys.platform.energy", "J", 4, {}, "powercap psys energy_uj, MSR 64Dh", "Energy of the platform as the vendor defines it: often the whole machine"),
    metric::rate("sys.platform.power", "W", 3, {}, "powercap psys energy_uj, MSR 64Dh", "Mean power of the platform as the vendor defines it"),

    metric::gauge("sys.cpu.temp", "Cel", 2, kPackageOrCoreTags, "hwmon coretemp, k10temp, zenpower; MSR 19Ch, 1B1h", "Temperature of a core (tag core: its lowest CPU) or package; of several dies, the hottest"),
    metric::gauge("sys.cpu.mhz", "MHz", 0, kCoreTags, "cpufreq scaling_cur_freq", "Frequency at the end of the window"),
    metric::rate("sys.cpu.mhz.average", "MHz", 1, kCoreTags, "MSR E8h APERF", "Mean frequency; idle time counts as 0"),
    metric::gauge("sys.cpu.mhz.busy", "MHz", 1, kCoreTags, "MSR E7h MPERF, E8h APERF, 10h TSC", "Mean frequency while not idle"),
    metric::rate("sys.cpu.mhz.tsc", "MHz", 1, kCoreTags, "MSR 10h TSC", "Frequency of the time stamp counter"),
    metric::rate("sys.cpu.busy", "%", 2, kCoreTags, "MSR E7h MPERF, 10h TSC", "Time in C0, the active state"),
    metric::delta("sys.cpu.smi", "1", metric::count, kCoreTags, "MSR 34h", "System management interrupts in the window"),
    metric::delta("sys.cpu.throttles", "1", metric::count, kPackageOrCoreTags, "thermal_throttle/core_throttle_count, package_throttle_count", "Thermal throttling events in the window"),
    metric::rate("sys.cpu.interrupts", "/s", 1, kCoreTags, "/proc/interrupts", "Interrupts served by the CPU"),
    metric::rate("sys.cpu.cstate", "%", 2, kStateTags, "cpuidle stateN/time", "Time in the idle state as requested by the kernel"),
    metric::rate("sys.cpu.cstate.entries", "/s", 2, kStateTags, "cpuidle stateN/usage", "Entries into the idle state"),
    metric::rate("sys.cpu.cstate.hardware", "%", 2, kStateTags, "MSR 660h, 3FCh, 3FDh, 3FEh", "Time in the idle state as measured by the core; c1 may be the remainder of the others"),
    metric::rate("sys.cpu.package.cstate", "%", 2, kPackageStateTags, "MSR 60Dh, 3F8h, 3F9h, 3FAh, 630h, 631h, 632h", "Time of the package in the state"),
    metric::rate("sys.cpu.package.c0.total", "%", 2, kPackageTags, "MSR 658h", "Time of all cores in C0; 100 is one core"),
    metric::rate("sys.cpu.package.c0.any", "%", 2, kPackageTags, "MSR 659h", "Time with any core in C0"),
    metric::rate("sys.cpu.package.c0.graphics", "%", 2, kPackageTags, "MSR 65Ah", "Time with the graphics in C0"),
    metric::rate("sys.cpu.package.c0.both", "%", 2, kPackageTags, "MSR 65Bh", "Time with a core and the graphics in C0"),
    metric::rate("sys.cpu.throttled", "%", 2, kPackageTags, "MSR 613h", "Time throttled by the package's power limit"),
    metric::rate("sys.mem.throttled", "%", 2, kPackageTags, "MSR 61Bh", "Time throttled by the memory's power limit"),
    metric::gauge("sys.cpu.uncore.mhz", "MHz", 0, kPackageTags, "intel_uncore_frequency current_freq_khz", "Frequency of the uncore; of several dies, the first"),

    metric::gauge("sys.sensor.temp", "Cel", 2, kSensorTags, "hwmon tempN_input", "Temperature of a sensor, CPUs included"),
    metric::gauge("sys.sensor.power", "W", 3, kSensorTags, "hwmon powerN_input, powerN_average", "Power measured by a sensor"),
    metric::delta("sys.sensor.energy", "J", 3, kSensorTags, "hwmon energyN_input", "Energy counted by a sensor in the window"),
    metric::gauge("sys.sensor.fan", "/min", 0, kSensorTags, "hwmon fanN_input", "Speed of a fan"),
    metric::gauge("sys.thermal.temp", "Cel", 2, kZoneTags, "thermal_zoneN/temp", "Temperature of a thermal zone; the tag is its type"),
    metric::gauge("sys.battery.power", "W", 3, kBatteryTags, "power_supply power_now, or current_now x voltage_now", "Power drawn from the battery; negative while charging"),
    metric::gauge("sys.battery.charge", "%", 1, kBatteryTags, "power_supply capacity", "Charge of the battery"),

    metric::gauge("gpu.mhz", "MHz", 0, kGpuTags, "drm gt_cur_freq_mhz", "Frequency requested for Intel graphics"),
    metric::gauge("gpu.mhz.actual", "MHz", 0, kGpuTags, "drm gt_act_freq_mhz", "Frequency of Intel graphics"),
    metric::rate("gpu.rc6", "%", 2, kGpuTags, "drm rc6_residency_ms", "Time in the sleep state RC6"),
    metric::gauge("gpu.usage", "%", 0, kGpuTags, "NVML nvmlDeviceGetUtilizationRates gpu", "Time with a GPU kernel running, averaged by the driver over 1 s or less"),
    metric::gauge("gpu.mem.usage", "%", 0, kGpuTags, "NVML nvmlDeviceGetUtilizationRates memory", "Time with GPU memory reads or writes"),
    metric::gauge("gpu.mem.total", "MiBy", 2, kGpuTags, "NVML nvmlDeviceGetMemoryInfo total", "Memory of the GPU"),
    metric::gauge("gpu.mem.used", "MiBy", 2, kGpuTags, "NVML nvmlDeviceGetMemoryInfo used", "Memory in use"),
    metric::gauge("gpu.power", "W", 3, kGpuTags, "NVML nvmlDeviceGetPowerUsage", "Power of the card"),
    metric::delta("gpu.energy", "J", 3, kGpuTags, "NVML nvmlDeviceGetTotalEnergyConsumption", "Energy of the card in the window"),
    metric::gauge("gpu.temp", "Cel", 0, kGpuTags, "NVML nvmlDeviceGetTemperature", "Temperature of the GPU"),
    metric::gauge("proc.gpu.usage", "%", 0, kGpuProcessTags, "NVML nvmlDeviceGetProcessUtilization", "Share of the GPU's time, mean of the driver's samples in the window"),
    metric::gauge("proc.gpu.mem.used", "MiBy", 2, kGpuProcessTags, "NVML nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses", "GPU memory of the process"),
};
// clang-format on

using Values = io::MetricValues<kPowerMetrics>;
using Emitter = io::MetricEmitter<kPowerMetrics>;

}  // namespace atalaya::power
