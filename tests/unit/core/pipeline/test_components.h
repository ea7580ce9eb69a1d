// SPDX-License-Identifier: Apache-2.0
// Components that the engine's tests are made of, and the surroundings to build pipelines from them without a Lua file.
#pragma once

#include <atalaya/plugin.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/config/description.h"
#include "core/pipeline/engine.h"
#include "core/plugin/registry.h"

namespace atalaya::core::test {

// Shared state of a test and its components. One object for the whole program, reset by each test.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int64_t> per_window{10};  // samples that "numbers" emits
  std::atomic<int64_t> given{0};        // samples given so far: also the value of the next one
  std::atomic<int> collect_code{ATALAYA_OK};
  std::atomic<int> write_code{ATALAYA_OK};
  std::atomic<int> collects{0}, writes{0}, starts{0}, stops{0};
  std::atomic<int> refuses_start{-1}, failing{-1};  // the number of the "keep" that does not start, or answers RETRY
  std::atomic<int64_t> first_written{-1};           // the value that the first write began with
  bool hold_writes = false;                         // "keep" waits while it is set
  std::vector<std::vector<int64_t>> kept = std::vector<std::vector<int64_t>>(4);  // values that each "keep" has, by its number
  std::vector<std::pair<uint64_t, int>> acked;
  std::atomic<int> push_batches{0};  // how many batches "pushed" still sends

  void reset();
  // Waits until the condition holds, which the mutex guards; false after a minute.
  bool wait(const std::function<bool()> &condition);
  void notify() { changed.notify_all(); }
};
Script &script();

// Sets the same fields as load_file.
class Builder {
 public:
  Builder();
  StageDescription make(uint32_t kind, const std::string &name, const std::vector<std::pair<std::string, int64_t>> &numbers = {});
  PipelineDescription pipeline(const std::string &name, std::vector<StageDescription> sources, std::vector<StageDescription> stages,
                               std::vector<size_t> sinks, int64_t every_ns = 20'000'000);

  Registry registry;
  Symbols symbols;
};

// Runs an engine on a separate thread until it is stopped.
class RunningEngine {
 public:
  explicit RunningEngine(Engine &engine);
  ~RunningEngine() { stop(); }
  bool stop();

 private:
  Engine &engine_;
  bool clean_ = true;
  std::thread thread_;
};

// Every row balances, and the output of a row is the input of the next one.
void check_balance(const std::vector<LedgerRow> &rows);
const LedgerRow *find_row(const std::vector<LedgerRow> &rows, const std::string &pipeline, const std::string &component);

}  // namespace atalaya::core::test
