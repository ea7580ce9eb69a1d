// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/config/description.h"
#include "core/ledger/ledger.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/pipeline_run.h"

namespace atalaya::core {

// Runs the pipelines of one file. One thread calls run: it is the engine thread, which turns the clock, calls the pull sources and
// the stages. Sinks, push sources and blocking sources have threads of their own, and so have pipelines with inline functions
// beside others: a lane.
class Engine {
 public:
  struct Options {
    int64_t flush_deadline_ns = 5'000'000'000;  // for delivering the queues when stopping
    uint64_t max_windows = 0;                   // stop after this many whole windows; 0 = never
    std::string host;                           // "" = the host's name
    Launcher *launcher = nullptr;               // for isolated components
    // Called by the engine thread at this interval as a sign of life, except while it starts or stops.
    int64_t alive_every_ns = 0;  // 0 = never
    std::function<void()> alive;
  };

  Engine(Symbols &symbols, Options options);
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;
  ~Engine();

  // Creates and starts everything: sinks, stages, then sources. On an error nothing is left running. Before run.
  Status start(FileDescription file);
  // Works until stop is called, the windows are used up, or every source has ended; then delivers the queues and stops
  // everything. False when a component hangs in a call: the process should end without running destructors.
  bool run();

  // Any thread, also before run.
  void stop();
  // Any thread. Replaces the file: pipelines and sinks that are the same go on untouched. On an error the old file runs on, as far
  // as it starts again, and the error says so. The answer comes when it is done, by run; one reload at a time, once it has started.
  std::future<Status> reload(FileDescription file);

  // After run: it ended because its sources cannot work here.
  bool gave_up() const { return gave_up_; }

  // How long run takes to return after stop, at most, unless the engine thread itself hangs in a call.
  int64_t longest_stop_ns() const;

  Ledger &ledger() { return ledger_; }

 private:
  struct Graph {
    FileDescription file;
    std::vector<std::shared_ptr<SinkWorker>> sinks;       // as in file.sinks
    std::vector<std::shared_ptr<PipelineRun>> pipelines;  // as in file.pipelines
  };
  struct Reload {
    FileDescription file;
    std::promise<Status> result;
  };

  // A graph for the file. Unchanged parts of the current one are reused; the rest is created, not started.
  Result<Graph> build(FileDescription file, const Graph &current);
  Status start_new(Graph &graph, const Graph &current);
  void wire(Graph &graph);
  Status apply(FileDescription file);
  Status fall_back(const std::string &why);
  Graph only_running(Graph graph);
  // Stops the parts that `keep` lacks. Sinks go on delivering for a while: they retire.
  void stop_parts(const Graph &graph, const Graph &keep);
  void retire_until_free(const StageDescription &wanted);
  void release(const std::shared_ptr<SinkWorker> &sink);
  void start_lanes();
  void stop_lanes();
  void wake();
  void note();  // news of a lane
  bool turn();  // one turn of the loop; false when everything has ended
  void wait_for_work();
  void show_alive();

  Ledger ledger_;
  Options options_;
  PipelineServices services_;
  Graph graph_;
  Pipelines own_;                                      // of the graph, those that this thread runs
  std::vector<std::shared_ptr<SinkWorker>> retiring_;  // out of the graph, still delivering
  std::vector<std::shared_ptr<void>> abandoned_;       // hangs in a call: may never be destroyed
  uint64_t windows_ = 0;
  int64_t next_alive_ = INT64_MAX;
  bool gave_up_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Lane>> lanes_;                 // changed only by the engine thread
  bool woken_ = false, stopping_ = false, running_ = false;  // running: from the start on, also before run
  std::optional<Reload> reload_;
};

}  // namespace atalaya::core
