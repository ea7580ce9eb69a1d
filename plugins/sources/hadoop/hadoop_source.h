// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "plugins/sources/hadoop/delivery.h"
#include "plugins/sources/hadoop/files/places.h"
#include "plugins/sources/hadoop/files/reading.h"
#include "plugins/sources/hadoop/hadoop_metrics.h"
#include "plugins/sources/hadoop/params.h"

namespace atalaya::hadoop {

// Converts the history files of Hadoop and Spark below a path to spans: scans the folders, reads new data and emits batches.
class HadoopSource final : public PushSource {
 public:
  static constexpr Description description = {.name = "hadoop"_str,
                                              .summary = "Import jobs and tasks from Hadoop histories and Spark event logs"_str,
                                              .params = kParams,
                                              .metrics = kMetrics};

  explicit HadoopSource(Host host);

  void start() override { marks_ = delivery_.start(); }
  void stop() override { delivery_.stop(); }
  Code run() override;
  void interrupt() noexcept override { delivery_.interrupt(); }
  void acked(uint64_t batch_id, Code status) noexcept override { delivery_.acked(batch_id, status); }

 private:
  // Read state of the history of a running job.
  struct Running {
    std::unique_ptr<Reading> reading;  // null: no new data, or a file whose growth is not listed
    int64_t grown_at = 0;              // monotonic time of the last growth
  };

  // Totals of an import (follow = false) for its summary.
  struct Import {
    std::set<std::string> read, skipped;  // paths of imported and of skipped histories
    uint64_t spans = 0;
    std::set<std::string> found, too_old,
        foreign;  // paths of all found files; of those above max_age; of those that are no history
  };

  bool wait(int64_t until);
  void settle();
  bool scan();
  bool is_new(const Found &found);
  bool read_one(const Found &found);
  bool read_history(const Found &found);
  bool read_configuration(const Found &found);
  bool is_too_old(const Found &found);
  bool is_idle(const Found &found, const Running &running);
  void report_damage(const std::string &path, const protocols::Damage &damage);
  void report_rest(const Found &found, const History &history);
  void mark_read(const std::string &path);
  void count_skipped(const std::string &path);
  void log_import();
  std::string why_nothing() const;
  void drop_idle(const std::vector<Found> &found);
  void forget(const std::vector<Found> &found);

  const Host host_;
  const bool follow_;
  const int64_t every_ns_, max_age_ns_;
  const Rules rules_;
  Places places_;
  Delivery delivery_;
  std::map<std::string, Mark> marks_;         // size and time of completely read files
  std::map<std::string, Running> running_;    // running histories by path
  std::map<std::string, uint64_t> reported_;  // number of reported damaged pieces by path
  Import import_;
  bool is_complete_ = false;  // the last scan could list all folders
};

}  // namespace atalaya::hadoop
