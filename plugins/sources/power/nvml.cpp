// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>

namespace atalaya::power {
namespace {

constexpr int kSuccess = 0, kInsufficientSize = 7;
constexpr int kTemperatureOfGpu = 0;
constexpr unsigned kMaxGpus = 256, kMaxProcesses = 65536;
constexpr uint64_t kUnknown = UINT64_MAX;  // NVML_VALUE_NOT_AVAILABLE
constexpr double kMiB = 1024.0 * 1024.0;

double mib(unsigned long long bytes) {
  return static_cast<double>(bytes) / kMiB;
}

template <class Function>
void find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

GpuProcess &process_of(std::vector<GpuProcess> &processes, const std::string &gpu, uint32_t pid) {
  for (GpuProcess &process : processes)
    if (process.pid == pid && process.gpu == gpu) return process;
  processes.push_back({gpu, pid, std::nullopt, std::nullopt});
  return processes.back();
}

}  // namespace

struct Nvml::Functions {
  struct Utilization {
    unsigned gpu, memory;
  };
  struct Memory {
    unsigned long long total, free, used;
  };
  struct ProcessInfo {  // nvmlProcessInfo_v2_t
    unsigned pid;
    unsigned long long used_memory;
    unsigned instance, compute_instance;
  };
  struct ProcessSample {  // nvmlProcessUtilizationSample_t
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
  };

  int (*init)();
  int (*shutdown)();
  const char *(*error)(int);
  int (*count)(unsigned *);
  int (*handle)(unsigned, Device *);
  int (*utilization)(Device, Utilization *);
  int (*memory)(Device, Memory *);
  int (*power)(Device, unsigned *);
  int (*energy)(Device, unsigned long long *);
  int (*temperature)(Device, int, unsigned *);
  int (*compute)(Device, unsigned *, ProcessInfo *);
  int (*graphics)(Device, unsigned *, ProcessInfo *);
  int (*process_utilization)(Device, ProcessSample *, unsigned *, unsigned long long);

  explicit Functions(void *library) {
    find(library, "nvmlInit_v2", init);
    find(library, "nvmlShutdown", shutdown);
    find(library, "nvmlErrorString", error);
    find(library, "nvmlDeviceGetCount_v2", count);
    find(library, "nvmlDeviceGetHandleByIndex_v2", handle);
    find(library, "nvmlDeviceGetUtilizationRates", utilization);
    find(library, "nvmlDeviceGetMemoryInfo", memory);
    find(library, "nvmlDeviceGetPowerUsage", power);
    find(library, "nvmlDeviceGetTotalEnergyConsumption", energy);
    find(library, "nvmlDeviceGetTemperature", temperature);
    // Drivers before 510 have v2, with the same structure.
    find(library, "nvmlDeviceGetComputeRunningProcesses_v3", compute);
    if (compute == nullptr) find(library, "nvmlDeviceGetComputeRunningProcesses_v2", compute);
    find(library, "nvmlDeviceGetGraphicsRunningProcesses_v3", graphics);
    if (graphics == nullptr) find(library, "nvmlDeviceGetGraphicsRunningProcesses_v2", graphics);
    find(library, "nvmlDeviceGetProcessUtilization", process_utilization);
  }
  bool complete() const { return init != nullptr && shutdown != nullptr && count != nullptr && handle != nullptr; }
};

Nvml::Nvml() = default;

Nvml::~Nvml() {
  close();
}

core::Status Nvml::open(const std::string &library) {
  close();
  void *const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    const char *const text = ::dlerror();
    return core::Error{text != nullptr ? text : "cannot load it"};
  }
  functions_ = std::make_unique<Functions>(loaded);
  if (!functions_->complete()) return core::Error{library + " does not have the functions of NVML version 2"};
  if (const int error = functions_->init(); error != kSuccess)
    return core::Error{"nvmlInit: " +
                       (functions_->error != nullptr ? std::string(functions_->error(error)) : std::to_string(error))};
  open_ = true;
  unsigned count = 0;
  if (functions_->count(&count) != kSuccess) count = 0;
  for (unsigned i = 0; i < std::min(count, kMaxGpus); ++i) {
    Device device = nullptr;
    if (functions_->handle(i, &device) == kSuccess) gpus_.push_back({device, std::to_string(i), 0});
  }
  if (!gpus_.empty()) return core::Done{};
  close();
  return core::Error{"the driver reports no GPU"};
}

void Nvml::close() {
  if (open_) functions_->shutdown();
  open_ = false;
  gpus_.clear();
}

std::vector<GpuReading> Nvml::read() {
  std::vector<GpuReading> readings;
  for (const Gpu &gpu : gpus_) readings.push_back(read_one(gpu));
  return readings;
}

GpuReading Nvml::read_one(const Gpu &gpu) const {
  GpuReading reading;
  reading.name = gpu.name;
  Functions::Utilization utilization{};
  if (functions_->utilization != nullptr && functions_->utilization(gpu.device, &utilization) == kSuccess &&
      utilization.gpu <= 100 && utilization.memory <= 100) {
    reading.usage = utilization.gpu;
    reading.memory_usage = utilization.memory;
  }
  Functions::Memory memory{};
  if (functions_->memory != nullptr && functions_->memory(gpu.device, &memory) == kSuccess) {
    reading.memory_total_mib = mib(memory.total);
    reading.memory_used_mib = mib(memory.used);
  }
  unsigned value = 0;
  if (functions_->power != nullptr && functions_->power(gpu.device, &value) == kSuccess) reading.power = value / 1000.0;
  if (functions_->temperature != nullptr && functions_->temperature(gpu.device, kTemperatureOfGpu, &value) == kSuccess)
    reading.temperature = value;
  unsigned long long energy = 0;
  if (functions_->energy != nullptr && functions_->energy(gpu.device, &energy) == kSuccess) reading.energy_mj = energy;
  return reading;
}

std::vector<GpuProcess> Nvml::read_processes() {
  std::vector<GpuProcess> processes;
  for (Gpu &gpu : gpus_) {
    add_memory(gpu, processes);
    add_usage(gpu, processes);
  }
  return processes;
}

void Nvml::add_memory(const Gpu &gpu, std::vector<GpuProcess> &processes) const {
  for (const auto function : {functions_->compute, functions_->graphics}) {
    if (function == nullptr) continue;
    // It returns the number of entries, which may grow until the next call.
    std::vector<Functions::ProcessInfo> list(64);
    int error = kInsufficientSize;
    auto count = static_cast<unsigned>(list.size());
    while ((error = function(gpu.device, &count, list.data())) == kInsufficientSize && list.size() < kMaxProcesses) {
      list.resize(std::max<size_t>(list.size() * 2, std::min(count, kMaxProcesses)));
      count = static_cast<unsigned>(list.size());
    }
    if (error != kSuccess) continue;
    list.resize(std::min<size_t>(count, list.size()));
    for (const Functions::ProcessInfo &info : list) {
      GpuProcess &process = process_of(processes, gpu.name, info.pid);
      if (info.used_memory != kUnknown) process.memory_mib = mib(info.used_memory);  // a process that does both is in both lists
    }
  }
}

void Nvml::add_usage(Gpu &gpu, std::vector<GpuProcess> &processes) const {
  if (functions_->process_utilization == nullptr) return;
  unsigned count = 0;
  functions_->process_utilization(gpu.device, nullptr, &count, gpu.seen_us);
  if (count == 0 || count > kMaxProcesses) return;
  std::vector<Functions::ProcessSample> samples(count);
  if (functions_->process_utilization(gpu.device, samples.data(), &count, gpu.seen_us) != kSuccess) return;
  samples.resize(std::min<size_t>(count, samples.size()));
  struct Mean {
    double sum = 0, samples = 0;
  };
  std::map<uint32_t, Mean> means;
  for (const Functions::ProcessSample &sample : samples) {
    gpu.seen_us = std::max<uint64_t>(gpu.seen_us, sample.time_us);
    if (sample.sm > 100) continue;
    means[sample.pid].sum += sample.sm;
    ++means[sample.pid].samples;
  }
  for (const auto &[pid, mean] : means) process_of(processes, gpu.name, pid).usage = mean.sum / mean.samples;
}

}  // namespace atalaya::power
