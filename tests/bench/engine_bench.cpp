// SPDX-License-Identifier: Apache-2.0
// Samples per second on one core through native stages, and through an inline Lua function: engine_bench PLUGINS LUA
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/config/functions/functions.h"
#include "core/config/load.h"
#include "core/plugin/instance.h"

using namespace atalaya::core;

namespace {

constexpr int kSamples = 1000;
constexpr int kFields = 15;
constexpr int kRounds = 300;
constexpr int kRuns = 5;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// A window of processes: a third of them busy.
void fill(Batch &batch, Symbols &symbols) {
  const uint32_t pid = symbols.intern("pid");
  const uint32_t process = symbols.intern("process");
  const uint32_t host = symbols.intern("host");
  std::vector<uint32_t> names = {symbols.intern("proc.cpu.user")};
  for (int i = 1; i < kFields; ++i) names.push_back(symbols.intern("proc.field." + std::to_string(i)));
  for (int i = 0; i < kSamples; ++i) {
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    batch.reserve(sample, 4, kFields);
    batch.add_tag(sample, host, "bench");
    batch.add_tag(sample, pid, std::to_string(1000 + i));
    batch.add_tag(sample, process, i % 7 == 0 ? "java" : "worker");
    for (const uint32_t name : names) {
      atalaya_field field{name, ATALAYA_F64, {}};
      field.value.f64 = i % 3 == 0 ? 12.5 : 0;
      batch.add_field(sample, field);
    }
  }
}

// Median and spread of samples per CPU second of `work` on fresh copies of the batch.
void measure(const char *title, const Batch &master, const std::function<void(Batch &)> &work) {
  std::vector<double> rates;
  Batch batch;
  for (int run = 0; run <= kRuns; ++run) {
    double spent = 0;
    for (int round = 0; round < kRounds; ++round) {
      batch.clear();
      batch.append(master.raw());
      const double begin = cpu_seconds();
      work(batch);
      spent += cpu_seconds() - begin;
    }
    if (run > 0) rates.push_back(kSamples * kRounds / spent);  // the first one warms up
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%-44s %8.2f M samples/s  %7.1f ns a sample  (%.2f-%.2f)\n", title, rates[kRuns / 2] / 1e6, 1e9 / rates[kRuns / 2],
              rates.front() / 1e6, rates.back() / 1e6);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: engine_bench PLUGINS LUA\n");
    return 2;
  }
  const std::string file = std::string(argv[1]) + "/engine_bench.lua";
  std::ofstream(file) << R"(local a = require "atalaya"
a.pipeline "bench" {
  every = "1s",
  a.source.proc {},
  a.filter.value { ["proc.cpu.user"] = 0.5 },
  a.filter.match { process = "java*" },
  a.translate.tags { add = { team = "data" } },
  function(s) return s end,
  function(s) if s.fields["proc.cpu.user"] < 0.5 then return nil end return s end,
  function(s) if s.tags.process == "java" then s.tags.team = "data" end return s end,
  a.sink.stdout {},
}
)";
  Registry registry = Registry::scan({argv[1]});
  Symbols symbols;
  LoadedFiles loaded = load_files({file}, registry, symbols, argv[2]);
  std::remove(file.c_str());
  for (const std::string &error : loaded.errors) std::fprintf(stderr, "%s\n", error.c_str());
  if (!loaded.description) return 1;

  Batch master;
  fill(master, symbols);
  const atalaya_window window{sizeof(atalaya_window), 0, 1, 1'000'000'000, 1'000'000'000, 1};
  Surroundings surroundings;
  std::printf("%d samples of %d fields, one core, CPU time, median (min-max) of %d runs\n", kSamples, kFields, kRuns);
  const char *functions[] = {"Lua function, returns the sample", "Lua function, tests a field",
                             "Lua function, reads and sets a tag"};
  size_t function = 0;
  for (const StageDescription &stage : loaded.description->pipelines[0].stages) {
    if (stage.function != 0) {
      measure(functions[function++], master,
              [&](Batch &batch) { loaded.description->pipelines[0].functions->apply(stage.function, batch, false); });
      continue;
    }
    auto instance = Instance::create(stage.component, stage.parameters, stage.name, symbols, surroundings);
    if (!instance || !(*instance)->start().ok()) return 1;
    measure((std::string(kind_name(stage.kind)) + " " + stage.name).c_str(), master,
            [&](Batch &batch) { (*instance)->process(window, batch); });
  }
  return 0;
}
