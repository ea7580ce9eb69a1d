// SPDX-License-Identifier: Apache-2.0
// A function for each verb of the command. They return the exit status and throw query::Wrong, query::TooMuch and store::Error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "plugins/commands/phases/asked.h"
#include "plugins/shared/analysis/phases/database.h"

namespace atalaya::phases {

// Verbs of known phases.
int learn_phases(const PhasesOptions &args, command_line::Reading &reading, PhaseDatabase &database);
int show_phases(const PhasesOptions &args, command_line::Reading &reading, PhaseDatabase &database);
int export_phases(const PhasesOptions &args, command_line::Reading &reading, PhaseDatabase &database);
int import_phases(const PhasesOptions &args, const std::string &path);

// Verbs of models of normal runs.
int train_models(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database);
int predict_phases(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database);
int find_anomalies(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database);

// Interrupts the waits of one thread: after `end`, the current call and all later calls of `passes` return false. Thread-safe.
class Interruption {
 public:
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    wake_.notify_all();
  }
  // Waits for `time`; returns false if it was interrupted.
  bool passes(std::chrono::seconds time) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, time, [&] { return is_ended_; });
  }

 private:
  bool is_ended_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
};

// Prints phases when they start and end, and reports those that are not normal, until it is interrupted.
int watch_phases(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database,
                 Interruption &interruption);

}  // namespace atalaya::phases
