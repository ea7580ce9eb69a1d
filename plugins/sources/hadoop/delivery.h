// SPDX-License-Identifier: Apache-2.0
// What is on its way to the sinks, and what they hold: how far each history was taken is noted when they hold what it gave.
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

#include "plugins/sources/hadoop/positions.h"
#include "plugins/sources/hadoop/span_writer.h"

namespace atalaya::hadoop {

// acked and interrupt may be called from any thread, the rest from that which gives.
class Delivery {
 public:
  Delivery(const Host &host, size_t max_names) : host_(host), writer_(host, max_names) {}

  // The files that were read to their end in earlier runs. Throws Failure.
  std::map<std::string, Mark> start();
  void stop();
  void interrupt() noexcept;
  bool stopping();

  // How far the sinks hold a history.
  std::optional<Position> held(const std::string &key);
  // Sends spans that take a history, in the file `path`, that far. False: the host is stopping.
  bool give(const std::string &path, const std::string &key, const Spans &spans, Position position);
  // The file has been read to its end; that is noted behind what it gave.
  void note_read(const std::string &path, const Mark &mark);
  void acked(uint64_t batch_id, Code status) noexcept;

  // Notes what the sinks took. Files whose spans one of them refused are to be read again, from what is held.
  std::set<std::string> settle();
  // Whether a file that was refused shall wait longer before it is read again.
  bool has_to_wait(const std::string &path) const;
  // When the first of those may be read again; nothing: there is none.
  std::optional<int64_t> next_try() const;

  // Both return when there is something to settle. wait_until: false when the time is over; either: check stopping().
  bool wait_until(int64_t deadline);
  void wait_for_all();

  // Refused files that could have been read again since then, and were not, have had a try. Asked when all is settled.
  void count_tries(int64_t since);
  // What is no longer there is not kept.
  void forget_all_but(const std::set<std::string> &paths);
  uint64_t left_out() const { return writer_.left_out(); }

 private:
  // What is noted when the sinks hold a batch and all before it.
  struct Flight {
    uint64_t id = 0;
    bool settled = false;
    Code status = Code::ok;
    uint64_t attempt = 0;  // of its path
    Positions::Progress progress;
  };
  // A path whose spans a sink refused: what was under way of it counts no more.
  struct Trouble {
    uint64_t attempt = 0;
    int64_t again_at = 0;  // monotonic
  };

  bool emit(atalaya_batch *batch, Flight flight);
  bool fly(Flight flight);
  uint64_t attempt_of(const std::string &path) const;
  bool all_settled() const;
  std::vector<Flight> take_settled();
  bool try_again(const std::string &path);
  static bool postpone(Trouble &trouble);

  const Host host_;
  SpanWriter writer_;
  std::unique_ptr<Positions> positions_;
  std::map<std::string, Trouble> troubles_;
  int64_t forgotten_at_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Flight> flights_;      // in the order of the texts
  std::map<uint64_t, Code> early_;  // acked before emit had said the id
  bool emitting_ = false, stopping_ = false;
};

}  // namespace atalaya::hadoop
