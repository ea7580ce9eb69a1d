// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/pipeline/pipeline_run.h"

namespace atalaya::core {

using Pipelines = std::vector<std::shared_ptr<PipelineRun>>;

// Processes arrived batches and due windows until none remain. Returns the number of complete windows.
uint64_t process_due(const Pipelines &pipelines, const std::function<bool()> &stopping);
// CLOCK_MONOTONIC time of the next window of any pipeline; INT64_MAX without windows.
int64_t next_deadline(const Pipelines &pipelines);
bool all_ended(const Pipelines &pipelines);
bool any_unsupported(const Pipelines &pipelines);

// A thread for connected pipelines with inline functions, so that a slow function does not delay other pipelines. While the lane
// runs, only its thread uses the pipelines.
class Lane {
 public:
  // `report` is called, without a lock held, after windows and when all sources have ended.
  Lane(Pipelines pipelines, std::function<void()> report);
  Lane(const Lane &) = delete;
  Lane &operator=(const Lane &) = delete;
  ~Lane() { stop(); }

  void start();
  void stop();  // waits for the current window
  void wake();  // any thread
  uint64_t windows() const { return windows_; }
  bool ended() const { return ended_; }
  bool unsupported() const { return unsupported_; }

 private:
  void run();

  const Pipelines pipelines_;
  const std::function<void()> report_;
  std::atomic<uint64_t> windows_{0};
  std::atomic<bool> ended_{false}, unsupported_{false}, stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  std::thread thread_;
};

// The pipelines of a graph, divided by the thread that runs them.
struct Division {
  Pipelines engine;              // pipelines that run on the engine's thread
  std::vector<Pipelines> lanes;  // pipelines of each lane; a lane has its own thread
};
// Divides pipelines among the engine's thread and lanes. Connected pipelines have the same thread. If all pipelines are connected,
// no lane is needed.
Division divide(const Pipelines &pipelines);

}  // namespace atalaya::core
