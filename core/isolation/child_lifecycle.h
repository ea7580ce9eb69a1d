// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/isolation/child_handle.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// The state of an isolated component that the calling threads share with the supervisor: the requested state, the current child
// process, the outcomes of create and start. One mutex guards all of it.
class ChildLifecycle {
 public:
  using Handle = std::shared_ptr<ChildHandle>;

  // Functions for the calling threads.
  Outcome wait_created();
  void request_start();  // also discards the outcome of the last start
  Outcome wait_started();
  bool request_stop();   // false when it is requested already
  Handle request_end();  // requests the end; returns the child, if one runs
  Handle ready() const;  // the child that accepts calls, or null
  Handle wait_to_run();  // the child that accepts calls; null when the component is interrupted or stopped
  struct Interrupted {
    Handle child;  // the child that accepts calls, or null
    bool first = false;
  };
  Interrupted interrupt();
  void end_by(int64_t deadline_ns);  // sets the deadline for this child and all later ones

  // Functions for the supervisor. The first one waits until a child runs, or until a new one is due: its start is requested and
  // `retry_at` (CLOCK_MONOTONIC) is over. False at the end of the component.
  bool wait_for_work(int64_t retry_at);
  Handle child() const;
  bool set_child(const Handle &child);  // false at the end
  void set_created();
  bool start_requested() const;                // whether the component shall run
  bool start_pending() const;                  // requested, and without an outcome yet
  bool set_started(const Outcome &outcome);    // false when a later start has failed
  bool fail_create(const std::string &error);  // removes the child; true when create has no earlier outcome, which `error` becomes
  void set_unavailable();                      // the child accepts no calls until it is removed
  bool remove_child();                         // true when its end was requested

 private:
  enum class TargetState { created, started, stopped, ended };

  bool is_ready() const { return ready_ && child_->usable(); }
  void complete_pending();

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  TargetState target_state_ = TargetState::created;
  Handle child_;                              // null while none runs
  bool ready_ = false;                        // the child accepts calls
  std::optional<Outcome> created_, started_;  // outcomes of the first child
  bool interrupted_ = false;
  int64_t end_by_ = INT64_MAX;
};

}  // namespace atalaya::core
