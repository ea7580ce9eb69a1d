// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugins/sources/hadoop/metrics.h"
#include "plugins/sources/hadoop/params.h"
#include "plugins/sources/hadoop/positions.h"
#include "plugins/sources/hadoop/reading.h"
#include "plugins/sources/hadoop/span_writer.h"
#include "plugins/sources/hadoop/webhdfs.h"

namespace atalaya::hadoop {

// Histories below a path to spans. How far each was taken is noted when the sinks hold what it gave.
class HadoopSource final : public PushSource {
 public:
  static constexpr Description description = {
      .name = "hadoop"_str,
      .summary = "jobs, stages, tasks and their phases from the histories of Hadoop and the event logs of Spark, as spans"_str,
      .params = kParams,
      .metrics = kMetrics};

  explicit HadoopSource(Host host);

  void start() override;
  void stop() override;
  Code run() override;
  void interrupt() noexcept override;
  void acked(uint64_t batch_id, Code status) noexcept override;

 private:
  // What is noted when the sinks hold a batch and all before it.
  struct Flight {
    uint64_t id = 0;
    bool settled = false;
    Code status = Code::ok;
    uint64_t attempt = 0;  // of its path
    Positions::Progress progress;
  };
  // A path whose spans a sink refused: it is read again, and what was under way of it counts no more.
  struct Trouble {
    uint64_t attempt = 0;
    int64_t again_at = 0;  // monotonic
  };

  bool look_through();
  std::vector<std::string> paths();
  void add_found(const std::string &path, std::vector<Found> &out, bool &complete);
  Storage &storage_of(const std::string &path);
  bool read_one(const Found &found);
  bool read_history(const Found &found);
  bool read_configuration(const Found &found);
  void report_damage(const std::string &path, const Damage &damage);
  void report_rest(const Found &found, const History &history);
  bool give(const std::string &path, const std::string &key, const Spans &spans, Position position);
  bool emit(atalaya_batch *batch, Flight flight);
  void note_read(const Found &found, const Mark &mark);
  void settle();
  bool try_again(const Flight &flight);
  void forget(const std::vector<Found> &found);
  bool wait_until(int64_t deadline);
  bool stopping();

  const Host host_;
  const std::string path_, root_;
  const bool follow_;
  const int64_t every_ns_, max_age_ns_;
  Rules rules_;
  WebHdfsOptions webhdfs_;
  SpanWriter writer_;

  // Of the thread of run, and of stop behind it.
  std::vector<std::string> discovered_;
  std::map<std::string, std::unique_ptr<Storage>> storages_;  // by server; "" = local
  std::unique_ptr<Positions> positions_;
  std::map<std::string, Mark> marks_;                         // of what has been read
  std::map<std::string, std::unique_ptr<Reading>> readings_;  // of what goes on
  std::map<std::string, uint64_t> reported_;                  // pieces that could not be read
  std::map<std::string, Trouble> troubles_;
  int64_t forgotten_at_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Flight> flights_;      // in the order of the texts
  std::map<uint64_t, Code> early_;  // acked before emit had said the id
  bool emitting_ = false, stopping_ = false;
};

}  // namespace atalaya::hadoop
