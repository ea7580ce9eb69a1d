// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/child_lifecycle.h"

#include <utility>

#include "core/base/now.h"

namespace atalaya::core {

Outcome ChildLifecycle::wait_created() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return created_.has_value(); });
  return *created_;
}

void ChildLifecycle::request_start() {
  const std::lock_guard lock(mutex_);
  target_state_ = TargetState::started;
  started_.reset();
}

Outcome ChildLifecycle::wait_started() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_.has_value(); });
  return *started_;
}

bool ChildLifecycle::request_stop() {
  const std::lock_guard lock(mutex_);
  if (target_state_ == TargetState::stopped) return false;
  target_state_ = TargetState::stopped;
  changed_.notify_all();
  return true;
}

ChildLifecycle::Handle ChildLifecycle::request_end() {
  const std::lock_guard lock(mutex_);
  target_state_ = TargetState::ended;
  changed_.notify_all();
  return child_;
}

ChildLifecycle::Handle ChildLifecycle::ready() const {
  const std::lock_guard lock(mutex_);
  return is_ready() ? child_ : nullptr;
}

ChildLifecycle::Handle ChildLifecycle::wait_to_run() {
  std::unique_lock lock(mutex_);
  const auto over = [this] { return interrupted_ || target_state_ != TargetState::started; };
  changed_.wait(lock, [&] { return over() || is_ready(); });
  return over() ? nullptr : child_;
}

ChildLifecycle::Interrupted ChildLifecycle::interrupt() {
  const std::lock_guard lock(mutex_);
  const bool first = !std::exchange(interrupted_, true);
  changed_.notify_all();
  return {ready_ ? child_ : nullptr, first};
}

void ChildLifecycle::end_by(int64_t deadline_ns) {
  Handle current;
  {
    const std::lock_guard lock(mutex_);
    end_by_ = deadline_ns;
    current = child_;
  }
  if (current) current->end_by(deadline_ns);
}

bool ChildLifecycle::wait_for_work(int64_t retry_at) {
  std::unique_lock lock(mutex_);
  while (target_state_ != TargetState::ended) {
    if (child_) return true;
    if (target_state_ == TargetState::stopped && created_) {
      changed_.wait(lock);
    } else if (monotonic() >= retry_at) {
      return true;
    } else {
      changed_.wait_until(lock, at(retry_at));
    }
  }
  return false;
}

ChildLifecycle::Handle ChildLifecycle::child() const {
  const std::lock_guard lock(mutex_);
  return child_;
}

bool ChildLifecycle::set_child(const Handle &child) {
  const std::lock_guard lock(mutex_);
  if (target_state_ == TargetState::ended) return false;
  child_ = child;
  child->end_by(end_by_);
  return true;
}

void ChildLifecycle::set_created() {
  const std::lock_guard lock(mutex_);
  if (!created_) created_ = Outcome{};
  changed_.notify_all();
}

bool ChildLifecycle::start_requested() const {
  const std::lock_guard lock(mutex_);
  return target_state_ == TargetState::started;
}

bool ChildLifecycle::start_pending() const {
  const std::lock_guard lock(mutex_);
  return target_state_ == TargetState::started && !started_;
}

bool ChildLifecycle::set_started(const Outcome &outcome) {
  const std::lock_guard lock(mutex_);
  ready_ = true;
  const bool failed_again = started_.has_value() && !outcome.ok();
  if (!started_) started_ = outcome;
  changed_.notify_all();
  return !failed_again;
}

bool ChildLifecycle::fail_create(const std::string &error) {
  const std::lock_guard lock(mutex_);
  const bool first = !created_;
  if (first) created_ = Outcome{ATALAYA_BAD_CONFIG, error};
  child_ = nullptr;
  ready_ = false;
  if (first) target_state_ = TargetState::stopped;
  changed_.notify_all();
  return first;
}

// A component that crashes does not prevent the agent's start: it is unavailable until its restart.
void ChildLifecycle::complete_pending() {
  if (!created_) created_ = Outcome{};
  if (target_state_ == TargetState::started && !started_) started_ = Outcome{};
}

void ChildLifecycle::set_unavailable() {
  const std::lock_guard lock(mutex_);
  ready_ = false;
  complete_pending();
  changed_.notify_all();
}

bool ChildLifecycle::remove_child() {
  const std::lock_guard lock(mutex_);
  child_ = nullptr;
  ready_ = false;
  complete_pending();
  changed_.notify_all();
  return target_state_ == TargetState::stopped || target_state_ == TargetState::ended;
}

}  // namespace atalaya::core
