// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/config/description.h"
#include "core/ledger/ledger.h"
#include "core/pipeline/pipeline_run.h"
#include "core/util/result.h"

namespace atalaya::core {

// Runs the pipelines of one file. One thread calls run: it is the engine thread, which turns the clock, calls the pull sources, the stages
// and the inline functions. Sinks, push sources and blocking sources have threads of their own.
class Engine {
 public:
  struct Options {
    int64_t flush_deadline_ns = 5'000'000'000;  // for delivering what is queued when stopping
    uint64_t max_windows = 0;                   // stop after so many whole windows; 0 = never
    std::string host;                           // "" = the host's name
  };

  Engine(Symbols &symbols, Options options);
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;
  ~Engine();

  // Creates and starts everything: sinks, stages, then sources. On an error nothing is left running. Before run.
  Status start(FileDescription file);
  // Works until stop is called, the windows are used up, or every source has ended; then delivers what is queued and stops everything.
  // False when a component hangs in a call: the process should end without running destructors.
  bool run();

  // Any thread, also before run.
  void stop();
  // Any thread but the engine's. Replaces the file: pipelines and sinks that are the same go on untouched. On an error the old file runs
  // on, and the error says why. Waits until it is done.
  Status reload(FileDescription file);

  Ledger &ledger() { return ledger_; }

 private:
  struct Graph {
    FileDescription file;
    std::vector<std::shared_ptr<SinkWorker>> sinks;         // as in file.sinks
    std::vector<std::shared_ptr<PipelineRun>> pipelines;    // as in file.pipelines
  };
  struct Reload {
    FileDescription file;
    std::promise<Status> result;
  };

  // A graph for the file. What the current one has unchanged is taken over; the rest is created, not started.
  Result<Graph> build(FileDescription file, const Graph &current);
  Status start_new(Graph &graph, const Graph &current);
  void wire(Graph &graph);
  Status apply(FileDescription file);
  bool stop_parts(const Graph &graph, const Graph *keep, int64_t deadline_ns);
  std::string free_sink_name(const StageDescription &sink, const std::vector<std::shared_ptr<SinkWorker>> &taken) const;
  void wake();
  bool turn();  // one turn of the loop; false when everything has ended
  void wait_for_work();

  Ledger ledger_;
  Options options_;
  Shared shared_;
  Graph graph_;
  std::vector<std::shared_ptr<void>> abandoned_;  // hangs in a call: may never be destroyed
  uint64_t windows_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  bool woken_ = false, stopping_ = false, running_ = false;
  std::optional<Reload> reload_;
};

}  // namespace atalaya::core
