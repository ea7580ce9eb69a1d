// SPDX-License-Identifier: Apache-2.0
// Tracks batches in flight: the position of a history is saved when the sinks hold its spans.
#pragma once

#include <atalaya/plugin.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/sources/hadoop/files/positions.h"
#include "plugins/sources/hadoop/span_writer.h"

namespace atalaya::hadoop {

// acked and interrupt may be called from any thread, other methods from the thread that sends.
class Delivery {
 public:
  Delivery(const Host &host, size_t max_names) : host_(host), writer_(host, max_names) {}

  // Returns the files that earlier runs read to their end. Throws Failure.
  std::map<std::string, Mark> start();
  void stop();
  void interrupt() noexcept;
  bool stopping();

  // The position up to which the sinks hold a history.
  std::optional<protocols::Position> held(const std::string &key);
  // Sends spans of the history in the file `path` up to this position. False: the host is stopping.
  bool send(const std::string &path, const std::string &key, const protocols::Spans &spans, protocols::Position position);
  // The file has been read to its end; saved after its spans.
  void note_read(const std::string &path, const Mark &mark);
  void acked(uint64_t batch_id, Code status) noexcept;

  // Saves the positions that the sinks hold. Returns files whose spans a sink refused: read them again from the held position.
  std::set<std::string> settle();
  // Whether a refused file must wait before it is read again.
  bool must_wait(const std::string &path) const;
  // The time at which the first refused file may be read again; nothing: none.
  std::optional<int64_t> next_try() const;

  // Both return when there is something to settle. wait_until: false at the deadline. Check stopping() after either.
  bool wait_until(int64_t deadline);
  void wait_for_all();

  // Counts an attempt for refused files that could have been read again since then, but were not. Call it when all is settled.
  void count_tries(int64_t since);
  // Forgets all other files.
  void forget_all_but(const std::set<std::string> &paths);
  uint64_t left_out() const { return writer_.left_out(); }

 private:
  // Progress to save when the sinks hold a batch and all batches before it.
  struct Flight {
    uint64_t id = 0;
    bool settled = false;
    Code status = Code::ok;
    uint64_t attempt = 0;  // of its path
    Positions::Progress progress;
  };
  // A path whose spans a sink refused: earlier batches in flight of it are ignored.
  struct Refusal {
    uint64_t attempt = 0;
    int64_t again_at = 0;  // monotonic
  };

  bool emit(atalaya_batch *batch, Flight flight);
  bool track(Flight flight);
  uint64_t attempt_of(const std::string &path) const;
  bool all_settled() const;
  std::vector<Flight> take_settled();
  bool try_again(const std::string &path);
  static bool postpone(Refusal &refusal);

  const Host host_;
  SpanWriter writer_;
  std::unique_ptr<Positions> positions_;
  std::map<std::string, Refusal> refusals_;
  int64_t forgotten_at_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Flight> flights_;      // in the order of the texts
  std::map<uint64_t, Code> early_;  // acked before emit returned the id
  bool emitting_ = false, stopping_ = false;
};

}  // namespace atalaya::hadoop
