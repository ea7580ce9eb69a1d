// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "plugins/sources/hadoop/delivery.h"
#include "plugins/sources/hadoop/hadoop_metrics.h"
#include "plugins/sources/hadoop/params.h"
#include "plugins/sources/hadoop/places.h"
#include "plugins/sources/hadoop/reading.h"

namespace atalaya::hadoop {

// Histories below a path to spans: looks through the places, reads what is new, and gives it to the sinks.
class HadoopSource final : public PushSource {
 public:
  static constexpr Description description = {
      .name = "hadoop"_str,
      .summary = "jobs, stages, tasks and their phases from the histories of Hadoop and the event logs of Spark, as spans"_str,
      .params = kParams,
      .metrics = kMetrics};

  explicit HadoopSource(Host host);

  void start() override { marks_ = delivery_.start(); }
  void stop() override { delivery_.stop(); }
  Code run() override;
  void interrupt() noexcept override { delivery_.interrupt(); }
  void acked(uint64_t batch_id, Code status) noexcept override { delivery_.acked(batch_id, status); }

 private:
  // Of a history that goes on.
  struct Running {
    std::unique_ptr<Reading> reading;  // null: of a file that grows unseen; nothing came any more
    int64_t grown_at = 0;              // monotonic: when it was last found to have grown
  };

  // What a run that ends when all is read has to tell of.
  struct Import {
    std::set<std::string> read, passed_over;  // paths
    uint64_t spans = 0;
  };

  bool rest(int64_t until);
  void settle();
  bool look_through();
  bool is_new(const Found &found);
  bool read_one(const Found &found);
  bool read_history(const Found &found);
  bool read_configuration(const Found &found);
  bool is_too_old(const Found &found);
  bool is_idle(const Found &found, const Running &running);
  void report_damage(const std::string &path, const Damage &damage);
  void report_rest(const Found &found, const History &history);
  void note_read(const std::string &path);
  void note_passed_over(const std::string &path);
  void say_imported();
  void drop_idle(const std::vector<Found> &found);
  void forget(const std::vector<Found> &found);

  const Host host_;
  const bool follow_;
  const int64_t every_ns_, max_age_ns_;
  const Rules rules_;
  Places places_;
  Delivery delivery_;
  std::map<std::string, Mark> marks_;         // of what has been read
  std::map<std::string, Running> running_;    // by path
  std::map<std::string, uint64_t> reported_;  // pieces that could not be read
  Import import_;
};

}  // namespace atalaya::hadoop
