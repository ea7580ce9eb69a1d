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

// A source on a thread of its own: a push source, or a pull source whose collect may block. Its batches wait here, a few at most,
// until the engine takes them; a push source that is faster than its pipeline waits in emit.
class SourceThread : public CountingSurroundings {
 public:
  // `arrived` is called, without a lock held, when there is something to take.
  SourceThread(Ledger &ledger, std::string state_dir, std::shared_ptr<BatchPool> pool, std::function<void()> arrived);
  ~SourceThread() override;

  void run(Instance &instance);  // which outlives the thread

  struct Arrival {
    BatchOwner batch;
    atalaya_window window{};
    Outcome outcome;      // of a collect
    uint64_t id = 0;      // of a pushed batch, for acked
    int64_t busy_ns = 0;  // of a collect
  };
  // A pull source: collect this window. False while the last one is not finished.
  bool request(const atalaya_window &window);
  // Engine thread.
  std::optional<Arrival> take();
  bool ended();  // it will bring no more, and nothing waits
  // Ends the thread: interrupts a push source, waits for a collect, also of a window that was only asked for. A source that holds
  // samples is then called once more. False when it hangs past the deadline; it is left behind then.
  bool stop(int64_t deadline_ns, bool holds = false);

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
  std::optional<atalaya_window> requested_, collected_;  // the next one, the last one
  bool busy_ = false, stopping_ = false, holds_ = false, done_ = false;
  uint64_t last_id_ = 0;
  std::thread thread_;
};

}  // namespace atalaya::core
