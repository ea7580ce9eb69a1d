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

// Runs the pipelines of the files. The thread that calls `run` is the engine thread: it runs the windows of pull sources and their
// stages. Sinks, push sources and blocking sources have separate threads. Pipelines with inline functions run in a lane, a
// separate thread, if there are other pipelines.
class Engine {
 public:
  struct Options {
    int64_t flush_deadline_ns = 5'000'000'000;  // maximum time to deliver the queues during a stop
    uint64_t max_windows = 0;                   // stop after this many complete windows; 0 = never
    std::string host;                           // "" = the host's name
    Launcher *launcher = nullptr;               // for isolated components
    // The engine thread calls `alive` at this interval, for a watchdog, except while it starts or stops.
    int64_t alive_every_ns = 0;  // 0: never
    std::function<void()> alive;
  };

  Engine(Symbols &symbols, Options options);
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;
  ~Engine();

  // Creates and starts sinks, stages, then sources; after an error nothing runs. Call it before `run`.
  Status start(FileDescription file);
  // Runs until `stop` is called, max_windows is reached or all sources have ended; then delivers the queues and stops all
  // components. False if a component hangs in a call: the process should then exit without destructors.
  bool run();

  // Any thread, also before run.
  void stop();
  // Replaces the files; equal pipelines and sinks continue unchanged. After an error the old files continue, apart from parts that
  // cannot be started again; the error lists them. `run` performs the reload and sets the result; one reload at a time, after the
  // start. Any thread.
  std::future<Status> reload(FileDescription file);

  // After `run`: it ended because a source is not supported on this host.
  bool gave_up() const { return gave_up_; }

  // The maximum time from `stop` to the return of `run`, unless the engine thread hangs in a call.
  int64_t longest_stop_ns() const;

  Ledger &ledger() { return ledger_; }

 private:
  struct Graph {
    FileDescription file;
    std::vector<std::shared_ptr<SinkWorker>> sinks;       // in the order of file.sinks
    std::vector<std::shared_ptr<PipelineRun>> pipelines;  // in the order of file.pipelines
  };
  struct Reload {
    FileDescription file;
    std::promise<Status> result;
  };

  // Builds a graph for the files. Reuses equal parts of the current graph; creates the others without starting them.
  Result<Graph> build(FileDescription file, const Graph &current);
  Status start_new(Graph &graph, const Graph &current);
  void wire(Graph &graph);
  Status apply(FileDescription file);
  Status fall_back(const std::string &why);
  Graph only_running(Graph graph);
  // Stops the parts of `graph` that are not in `keep`. Removed sinks retire: they deliver their queues until the deadline.
  void stop_parts(const Graph &graph, const Graph &keep);
  void retire_until_free(const StageDescription &wanted);
  void release(const std::shared_ptr<SinkWorker> &sink);
  void start_lanes();
  void stop_lanes();
  void wake();
  void wake_engine_thread();
  bool run_once();  // one iteration of the loop; false at the end
  void wait_for_work();
  void report_alive();

  Ledger ledger_;
  Options options_;
  PipelineServices services_;
  Graph graph_;
  Pipelines own_;                                      // the pipelines of the graph that the engine thread runs
  std::vector<std::shared_ptr<SinkWorker>> retiring_;  // removed from the graph, still delivering
  std::vector<std::shared_ptr<void>> abandoned_;       // components that hang in a call: must not be destroyed
  uint64_t windows_ = 0;
  int64_t next_alive_ = INT64_MAX;
  bool gave_up_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Lane>> lanes_;                 // changed only by the engine thread
  bool woken_ = false, stopping_ = false, running_ = false;  // running_: since `start`
  std::optional<Reload> reload_;
};

}  // namespace atalaya::core
