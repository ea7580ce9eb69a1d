// SPDX-License-Identifier: Apache-2.0
// A function for each verb. They return the exit status, and throw query::Wrong, query::TooMuch and store::Error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "plugins/commands/phases/asked.h"
#include "plugins/shared/analysis/phases/database.h"

namespace atalaya::phases {

// Of known phases.
int learn_phases(const PhasesOptions &asked, query::Reading &reading, PhaseDatabase &database);
int show_phases(const PhasesOptions &asked, query::Reading &reading, PhaseDatabase &database);
int export_phases(const PhasesOptions &asked, query::Reading &reading, PhaseDatabase &database);
int import_phases(const PhasesOptions &asked, const std::string &path);

// Of models of normal runs.
int train_models(const PhasesOptions &asked, query::Reading &reading, const PhaseDatabase &database);
int predict_phases(const PhasesOptions &asked, query::Reading &reading, const PhaseDatabase &database);
int find_anomalies(const PhasesOptions &asked, query::Reading &reading, const PhaseDatabase &database);

// Ends a wait, and all later ones. Any thread may call `end`.
class Interruption {
 public:
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    wake_.notify_all();
  }
  // Waits this long; false: it was ended.
  bool passes(std::chrono::seconds time) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, time, [&] { return is_ended_; });
  }

 private:
  bool is_ended_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
};

// Prints phases as they begin and end, and those that are not normal, until it is interrupted.
int watch_phases(const PhasesOptions &asked, query::Reading &reading, const PhaseDatabase &database, Interruption &interruption);

}  // namespace atalaya::phases
