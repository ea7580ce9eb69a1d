// SPDX-License-Identifier: Apache-2.0
// Tracks batches in flight. The position in a history file is saved when the sinks have stored
// all spans up to it.
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

// Any thread may call acked and interrupt; only the sending thread calls the other methods.
class Delivery {
 public:
  Delivery(const Host &host, size_t max_names) : host_(host), writer_(host, max_names) {}

  // Returns the files that earlier runs read to their end. Throws Failure.
  std::map<std::string, Mark> start();
  void stop();
  void interrupt() noexcept;
  bool stopping();

  // Returns the position up to which the sinks have stored a history.
  std::optional<protocols::Position> stored_position(const std::string &key);
  // Sends the spans of the history in the file `path` up to `position`. Returns false if the host is stopping.
  bool send(const std::string &path, const std::string &key, const protocols::Spans &spans, protocols::Position position);
  // Records that the file has been read to its end; saved when its spans are stored.
  void mark_read(const std::string &path, const Mark &mark);
  void acked(uint64_t batch_id, Code status) noexcept;

  // Saves the positions up to which the sinks have stored the spans. Returns the files whose spans a sink refused: the caller reads
  // them again from the saved position.
  std::set<std::string> settle();
  // Returns true if a refused file must not be read again yet.
  bool must_wait(const std::string &path) const;
  // Returns the time at which the first refused file may be read again; empty: no file was refused.
  std::optional<int64_t> next_attempt() const;

  // Both return when acknowledgements have arrived for settle(). wait_until returns false at the deadline. Check stopping() after
  // either.
  bool wait_until(int64_t deadline);
  void wait_for_all();

  // Counts an attempt for each refused file that could have been read again since `since`, but was not. Call it when no batch is in
  // flight.
  void count_attempts(int64_t since);
  // Forgets all files except `paths`.
  void forget_all_but(const std::set<std::string> &paths);
  uint64_t omitted() const { return writer_.omitted(); }

 private:
  // A batch in flight, and the progress to save when the sinks have stored it and all batches before it.
  struct Flight {
    uint64_t id = 0;
    bool settled = false;
    Code status = Code::ok;
    uint64_t attempt = 0;  // number of the attempt to send this path
    Positions::Progress progress;
  };
  // A path whose spans a sink refused. Acknowledgements of its earlier batches in flight are ignored.
  struct Refusal {
    uint64_t attempt = 0;
    int64_t again_at = 0;  // monotonic time of the next attempt
  };

  bool emit(atalaya_batch *batch, Flight flight);
  bool track(Flight flight);
  uint64_t attempt_of(const std::string &path) const;
  bool all_settled() const;
  std::vector<Flight> collect_settled();
  bool may_retry(const std::string &path);
  static bool postpone(Refusal &refusal);

  const Host host_;
  SpanWriter writer_;
  std::unique_ptr<Positions> positions_;
  std::map<std::string, Refusal> refusals_;
  int64_t forgotten_at_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Flight> flights_;      // in sending order
  std::map<uint64_t, Code> early_;  // acknowledgements that came before emit() returned the batch id
  bool emitting_ = false, stopping_ = false;
};

}  // namespace atalaya::hadoop
