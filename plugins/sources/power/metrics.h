// SPDX-License-Identifier: Apache-2.0
// What the samples carry. One sample a host, package, core, C-state, sensor, battery and GPU, and one a process on a GPU.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>

#include "plugins/sources/proc/host_metric_values.h"

namespace atalaya::power {

using namespace atalaya::literals;
using proc::delta;
using proc::gauge;
using proc::identity_tag;
using proc::rate;

inline constexpr std::array kMeterTags = {identity_tag("meter"), identity_tag("quality")};
inline constexpr std::array kPackageTags = {identity_tag("package")};
inline constexpr std::array kCoreTags = {identity_tag("core")};
inline constexpr std::array kPackageOrCoreTags = {identity_tag("package"), identity_tag("core")};
inline constexpr std::array kStateTags = {identity_tag("core"), identity_tag("state")};
inline constexpr std::array kPackageStateTags = {identity_tag("package"), identity_tag("state")};
inline constexpr std::array kSensorTags = {identity_tag("chip"), identity_tag("sensor")};
inline constexpr std::array kZoneTags = {identity_tag("zone")};
inline constexpr std::array kBatteryTags = {identity_tag("battery")};
inline constexpr std::array kGpuTags = {identity_tag("gpu")};
inline constexpr std::array kGpuProcessTags = {identity_tag("pid"), identity_tag("process"), identity_tag("gpu")};

// clang-format off
inline constexpr std::array kPowerMetrics = {
    gauge("sys.power", "W", 2, kMeterTags, "the best of IPMI, hwmon power_meter, RAPL psys, battery, RAPL package + dram", "Power of the host; the tag meter says by what it is measured, and so of how much of it."),

    delta("sys.cpu.energy", "J", 4, kPackageTags, "powercap package-N energy_uj, MSR 611h, C001029Bh", "Energy of the package in the window."),
    rate("sys.cpu.power", "W", 3, kPackageTags, "the same", "Mean power of the package."),
    delta("sys.cpu.cores.energy", "J", 4, kPackageTags, "powercap core energy_uj, MSR 639h", "Energy of all cores of the package, a part of sys.cpu.energy."),
    rate("sys.cpu.cores.power", "W", 3, kPackageTags, "the same", "Their mean power."),
    delta("sys.cpu.graphics.energy", "J", 4, kPackageTags, "powercap uncore energy_uj, MSR 641h", "Energy of the graphics in the package, a part of sys.cpu.energy."),
    rate("sys.cpu.graphics.power", "W", 3, kPackageTags, "the same", "Their mean power."),
    delta("sys.core.energy", "J", 4, kCoreTags, "MSR C001029Ah", "Energy of one core of an AMD CPU, a part of sys.cpu.energy; the tag core is its lowest CPU."),
    rate("sys.core.power", "W", 3, kCoreTags, "the same", "Its mean power."),
    delta("sys.mem.energy", "J", 4, kPackageTags, "powercap dram energy_uj, MSR 619h", "Energy of the package's memory; not a part of sys.cpu.energy."),
    rate("sys.mem.power", "W", 3, kPackageTags, "the same", "Its mean power."),
    delta("sys.platform.energy", "J", 4, {}, "powercap psys energy_uj, MSR 64Dh", "Energy of the platform, as its maker wired it: often the whole machine."),
    rate("sys.platform.power", "W", 3, {}, "the same", "Its mean power."),

    gauge("sys.cpu.temp", "Cel", 2, kPackageOrCoreTags, "hwmon coretemp, k10temp, zenpower; MSR 19Ch, 1B1h", "Temperature, with the tag core of a core (its lowest CPU), with the tag package of a package; with several dies of the hottest."),
    gauge("sys.cpu.mhz", "MHz", 0, kCoreTags, "cpufreq scaling_cur_freq", "Frequency at the end of the window."),
    rate("sys.cpu.mhz.average", "MHz", 1, kCoreTags, "MSR E8h APERF", "Mean frequency, idle time counted as 0."),
    gauge("sys.cpu.mhz.busy", "MHz", 1, kCoreTags, "MSR E7h MPERF, E8h APERF, 10h TSC", "Mean frequency while it was not idle."),
    rate("sys.cpu.mhz.tsc", "MHz", 1, kCoreTags, "MSR 10h TSC", "Frequency of the time stamp counter."),
    rate("sys.cpu.busy", "%", 2, kCoreTags, "MSR E7h MPERF, 10h TSC", "Time in C0, where instructions are executed."),
    delta("sys.cpu.smi", "1", -1, kCoreTags, "MSR 34h", "System management interrupts in the window."),
    delta("sys.cpu.throttles", "1", -1, kPackageOrCoreTags, "thermal_throttle/core_throttle_count, package_throttle_count", "Times in the window that it became too hot and was slowed down."),
    rate("sys.cpu.interrupts", "1/s", 1, kCoreTags, "/proc/interrupts", "Interrupts that the CPU served."),
    rate("sys.cpu.cstate", "%", 2, kStateTags, "cpuidle stateN/time", "Time that the kernel left the CPU in the idle state."),
    rate("sys.cpu.cstate.entries", "1/s", 2, kStateTags, "cpuidle stateN/usage", "Times that the kernel chose it."),
    rate("sys.cpu.cstate.hardware", "%", 2, kStateTags, "MSR 660h, 3FCh, 3FDh, 3FEh", "Time that the core really was in it; c1 without a register of its own is what the others leave."),
    rate("sys.cpu.package.cstate", "%", 2, kPackageStateTags, "MSR 60Dh, 3F8h, 3F9h, 3FAh, 630h, 631h, 632h", "Time that the package was in the state."),
    rate("sys.cpu.package.c0.total", "%", 2, kPackageTags, "MSR 658h", "Time in C0 of all cores together; 100 is one core."),
    rate("sys.cpu.package.c0.any", "%", 2, kPackageTags, "MSR 659h", "Time with any core in C0."),
    rate("sys.cpu.package.c0.graphics", "%", 2, kPackageTags, "MSR 65Ah", "Time with the graphics in C0."),
    rate("sys.cpu.package.c0.both", "%", 2, kPackageTags, "MSR 65Bh", "Time with a core and the graphics in C0."),
    rate("sys.cpu.throttled", "%", 2, kPackageTags, "MSR 613h", "Time that the package's power limit slowed it down."),
    rate("sys.mem.throttled", "%", 2, kPackageTags, "MSR 61Bh", "Time that the memory's power limit slowed it down."),
    gauge("sys.cpu.uncore.mhz", "MHz", 0, kPackageTags, "intel_uncore_frequency current_freq_khz", "Frequency of what is around the cores; with several dies of the first."),

    gauge("sys.sensor.temp", "Cel", 2, kSensorTags, "hwmon tempN_input", "Temperature of any sensor, CPUs included."),
    gauge("sys.sensor.power", "W", 3, kSensorTags, "hwmon powerN_input, powerN_average", "Power that a sensor measures."),
    delta("sys.sensor.energy", "J", 3, kSensorTags, "hwmon energyN_input", "Energy that a sensor counted in the window."),
    gauge("sys.sensor.fan", "1/min", 0, kSensorTags, "hwmon fanN_input", "Speed of a fan."),
    gauge("sys.thermal.temp", "Cel", 2, kZoneTags, "thermal_zoneN/temp", "Temperature of a thermal zone; the tag is its type."),
    gauge("sys.battery.power", "W", 3, kBatteryTags, "power_supply power_now, or current_now x voltage_now", "Power out of the battery; negative while it is charged."),
    gauge("sys.battery.charge", "%", 1, kBatteryTags, "power_supply capacity", "What is left in it."),

    gauge("gpu.mhz", "MHz", 0, kGpuTags, "drm gt_cur_freq_mhz", "Frequency that Intel graphics were told to have."),
    gauge("gpu.mhz.actual", "MHz", 0, kGpuTags, "drm gt_act_freq_mhz", "Frequency that they have."),
    rate("gpu.rc6", "%", 2, kGpuTags, "drm rc6_residency_ms", "Time that they slept."),
    gauge("gpu.usage", "%", 0, kGpuTags, "NVML nvmlDeviceGetUtilizationRates gpu", "Time with a kernel running, as the driver averages it (a second or less)."),
    gauge("gpu.mem.usage", "%", 0, kGpuTags, "NVML nvmlDeviceGetUtilizationRates memory", "Time with the memory being read or written."),
    gauge("gpu.mem.total", "MiBy", 2, kGpuTags, "NVML nvmlDeviceGetMemoryInfo total", "Memory of the GPU."),
    gauge("gpu.mem.used", "MiBy", 2, kGpuTags, "NVML nvmlDeviceGetMemoryInfo used", "Memory in use."),
    gauge("gpu.power", "W", 3, kGpuTags, "NVML nvmlDeviceGetPowerUsage", "Power of the card."),
    delta("gpu.energy", "J", 3, kGpuTags, "NVML nvmlDeviceGetTotalEnergyConsumption", "Energy of the card in the window."),
    gauge("gpu.temp", "Cel", 0, kGpuTags, "NVML nvmlDeviceGetTemperature", "Temperature of the GPU."),
    gauge("proc.gpu.usage", "%", 0, kGpuProcessTags, "NVML nvmlDeviceGetProcessUtilization", "The process's share of the GPU's time, mean of the driver's samples in the window."),
    gauge("proc.gpu.mem.used", "MiBy", 2, kGpuProcessTags, "NVML nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses", "GPU memory of the process."),
};
// clang-format on

using Values = proc::MetricValues<kPowerMetrics>;
using Emitter = proc::MetricEmitter<kPowerMetrics>;

}  // namespace atalaya::power
