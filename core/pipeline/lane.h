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

// Takes what has arrived and runs the windows that are due, until there are none. Returns the number of whole windows.
uint64_t process_due(const Pipelines &pipelines, const std::function<bool()> &stopping);
// CLOCK_MONOTONIC time of the next window of any; INT64_MAX without one.
int64_t next_deadline(const Pipelines &pipelines);
bool all_ended(const Pipelines &pipelines);
bool any_unsupported(const Pipelines &pipelines);

// A thread for connected pipelines with inline functions. A function that takes long delays them, and no other pipeline. While it
// runs, only its thread uses the pipelines.
class Lane {
 public:
  // `report` is called, without a lock held, after windows and when all sources have ended.
  Lane(Pipelines pipelines, std::function<void()> report);
  Lane(const Lane &) = delete;
  Lane &operator=(const Lane &) = delete;
  ~Lane() { stop(); }

  void start();
  void stop();  // once the current window is finished
  // Any thread.
  void wake();
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

// The pipelines of a graph by the thread that runs them.
struct Division {
  Pipelines engine;              // on the engine's thread
  std::vector<Pipelines> lanes;  // on a thread each
};
// Pipelines that are connected stay together. A file whose pipelines are all connected needs no further thread.
Division divide(const Pipelines &pipelines);

}  // namespace atalaya::core
