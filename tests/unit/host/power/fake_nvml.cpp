// SPDX-License-Identifier: Apache-2.0
// A machine with two GPUs behind the interface of NVIDIA's library: one that answers everything, an old one that does not measure
// power.
#include <cstdint>

namespace {

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned instance, compute_instance;
};
struct ProcessSample {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;
};

constexpr int kSuccess = 0, kNotSupported = 3, kInsufficientSize = 7, kDriverNotLoaded = 9;
constexpr unsigned long long kMiB = 1ULL << 20;

int init_error = kSuccess;
unsigned gpus = 2, processes = 1, first_pid = 1;
unsigned long long energy_mj = 1'000'000, sampled_us = 1000;
int opened = 0;

bool is_old(void *device) {
  return device == &sampled_us;
}

int list(unsigned *count, ProcessInfo *infos) {
  const unsigned room = *count;
  *count = processes;
  if (room < processes) return kInsufficientSize;
  for (unsigned i = 0; i < processes; ++i) infos[i] = {first_pid + i, 100 * kMiB * (i + 1), 0, 0};
  return kSuccess;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// For the test.
EXPORT void fake_set(int error, unsigned gpu_count, unsigned process_count, unsigned pid, unsigned long long mj,
                     unsigned long long us) {
  init_error = error;
  gpus = gpu_count;
  processes = process_count;
  first_pid = pid;
  energy_mj = mj;
  sampled_us = us;
}
EXPORT int fake_opened() {
  return opened;
}

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
EXPORT int nvmlInit_v2() {
  if (init_error == kSuccess) ++opened;
  return init_error;
}
EXPORT int nvmlShutdown() {
  --opened;
  return kSuccess;
}
EXPORT const char *nvmlErrorString(int error) {
  return error == kDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}
EXPORT int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = gpus;
  return kSuccess;
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  *device = index == 0 ? &energy_mj : &sampled_us;
  return kSuccess;
}
EXPORT int nvmlDeviceGetUtilizationRates(void *device, Utilization *rates) {
  *rates = is_old(device) ? Utilization{255, 255} : Utilization{87, 40};
  return kSuccess;
}
EXPORT int nvmlDeviceGetMemoryInfo(void *, Memory *memory) {
  *memory = {16384 * kMiB, 12288 * kMiB, 4096 * kMiB};
  return kSuccess;
}
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
  *milliwatts = 215'500;
  return is_old(device) ? kNotSupported : kSuccess;
}
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
  *millijoules = energy_mj;
  return is_old(device) ? kNotSupported : kSuccess;
}
EXPORT int nvmlDeviceGetTemperature(void *, int sensor, unsigned *celsius) {
  *celsius = 64;
  return sensor == 0 ? kSuccess : kNotSupported;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, ProcessInfo *infos) {
  if (!is_old(device)) return list(count, infos);
  *count = 0;
  return kSuccess;
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, ProcessInfo *infos) {
  if (!is_old(device)) return list(count, infos);
  return kNotSupported;
}
EXPORT int nvmlDeviceGetProcessUtilization(void *device, ProcessSample *samples, unsigned *count, unsigned long long since_us) {
  if (is_old(device)) return kNotSupported;
  if (sampled_us <= since_us) {
    *count = 0;
    return kSuccess;
  }
  if (samples == nullptr) {
    *count = 3;
    return kInsufficientSize;
  }
  *count = 3;
  samples[0] = {first_pid, sampled_us - 1, 50, 10, 0, 0};
  samples[1] = {first_pid, sampled_us, 70, 10, 0, 0};
  samples[2] = {first_pid, sampled_us, 4'000'000'000, 0, 0, 0};  // seen with some drivers
  return kSuccess;
}
// NOLINTEND(readability-identifier-naming)
