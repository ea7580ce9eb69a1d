// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/base/sample/batch.h"
#include "core/ledger/counting.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// The thread of a push source, or of a pull source whose collect may block. A short queue contains its batches until the engine
// takes them; a push source that is faster than its pipeline waits in `emit`.
class SourceThread : public CountingSurroundings {
 public:
  // `arrived` is called, without a lock, when a batch waits.
  SourceThread(Ledger &ledger, std::string state_dir, std::shared_ptr<BatchPool> pool, std::function<void()> arrived);
  ~SourceThread() override;

  void run(Instance &instance);  // the instance must outlive the thread

  struct Arrival {
    BatchOwner batch;
    atalaya_window window{};
    Outcome outcome;      // result of a collect
    uint64_t id = 0;      // id of a pushed batch, for `acked`
    int64_t busy_ns = 0;  // time in a collect
  };
  // Requests a window of a pull source. False if the previous window is not complete.
  bool request(const atalaya_window &window);
  // Returns a batch that waits. Engine thread.
  std::optional<Arrival> take();
  bool ended();  // the source has ended and no batch waits
  // Ends the thread: interrupts a push source, waits for the requested window of a pull source. With `last_call` the source is
  // then called once more for the samples that it retains. False if it hangs past the deadline; the thread is then detached.
  bool stop(int64_t deadline_ns, bool last_call = false);

  BatchOwner new_batch() override;
  int32_t emit(BatchOwner batch, uint64_t &id) override;

 private:
  void push_loop();
  void collect_loop();
  std::optional<atalaya_window> next_window();
  void arrive(Arrival arrival);

  std::shared_ptr<BatchPool> pool_;
  std::function<void()> arrived_;
  Instance *instance_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Arrival> waiting_;
  std::optional<atalaya_window> requested_, collected_;  // the next window, the last window
  bool busy_ = false, stopping_ = false, last_call_ = false, done_ = false;
  uint64_t last_id_ = 0;
  std::thread thread_;
};

}  // namespace atalaya::core
