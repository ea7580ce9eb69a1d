// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/nvml.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

namespace atalaya::power {
namespace {

struct Fake {
  Fake() : library(::dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE(library != nullptr);
    set();
  }
  ~Fake() { set(); }
  void set(int error = 0, unsigned gpus = 2, unsigned processes = 1, unsigned pid = 100, unsigned long long mj = 1'000'000,
           unsigned long long us = 1000) {
    reinterpret_cast<void (*)(int, unsigned, unsigned, unsigned, unsigned long long, unsigned long long)>(
        ::dlsym(library, "fake_set"))(error, gpus, processes, pid, mj, us);
  }
  int opened() { return reinterpret_cast<int (*)()>(::dlsym(library, "fake_opened"))(); }
  void *library;
};

TEST_CASE("NVML: values of a GPU, and values that an old one lacks") {
  Fake fake;
  Nvml nvml;
  REQUIRE(nvml.open(FAKE_NVML));
  const std::vector<GpuReading> gpus = nvml.read();
  REQUIRE(gpus.size() == 2);
  CHECK(gpus[0].name == "0");
  CHECK(gpus[0].usage == 87);
  CHECK(gpus[0].memory_usage == 40);
  CHECK(gpus[0].memory_total_mib == 16384);
  CHECK(gpus[0].memory_used_mib == 4096);
  CHECK(gpus[0].power == 215.5);
  CHECK(gpus[0].energy_mj == 1'000'000);
  CHECK(gpus[0].temperature == 64);
  CHECK_FALSE(gpus[1].usage);  // 255 %
  CHECK_FALSE(gpus[1].power);
  CHECK_FALSE(gpus[1].energy_mj);
  CHECK(gpus[1].temperature == 64);
}

TEST_CASE("NVML: processes, one that computes and draws once") {
  Fake fake;
  Nvml nvml;
  REQUIRE(nvml.open(FAKE_NVML));
  std::vector<GpuProcess> processes = nvml.read_processes();
  REQUIRE(processes.size() == 1);
  CHECK(processes[0].gpu == "0");
  CHECK(processes[0].pid == 100);
  CHECK(processes[0].memory_mib == 100);
  CHECK(processes[0].usage == 60);
  // Samples that were seen are not taken again.
  processes = nvml.read_processes();
  REQUIRE(processes.size() == 1);
  CHECK_FALSE(processes[0].usage);
  CHECK(processes[0].memory_mib == 100);
}

TEST_CASE("NVML: more processes than there was room for") {
  Fake fake;
  fake.set(0, 1, 1000);
  Nvml nvml;
  REQUIRE(nvml.open(FAKE_NVML));
  CHECK(nvml.read_processes().size() == 1000);
}

TEST_CASE("NVML: errors are reported, and opened handles are closed") {
  Fake fake;
  {
    Nvml nvml;
    CHECK(nvml.open("/no/such/libnvidia-ml.so.1").error().find("/no/such/libnvidia-ml.so.1: cannot open shared object file") !=
          std::string::npos);
    CHECK(nvml.open("libm.so.6").error() == "libm.so.6 does not have the functions of NVML version 2");
    fake.set(9);
    CHECK(nvml.open(FAKE_NVML).error() == "nvmlInit: Driver Not Loaded");
    CHECK_FALSE(nvml.is_open());
    fake.set(0, 0);
    CHECK(nvml.open(FAKE_NVML).error() == "the driver reports no GPU");
    CHECK(fake.opened() == 0);
    fake.set();
    CHECK(nvml.open(FAKE_NVML));
    CHECK(nvml.open(FAKE_NVML));
    CHECK(fake.opened() == 1);
  }
  CHECK(fake.opened() == 0);
}

}  // namespace
}  // namespace atalaya::power
