// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/base/files.h"
#include "core/isolation/call.h"
#include "core/isolation/child_lifecycle.h"
#include "core/isolation/child_requests.h"
#include "core/isolation/cpu_limit.h"
#include "core/isolation/isolation.h"
#include "core/isolation/launcher/launcher.h"

namespace atalaya::core {

// The thread that keeps the process of an isolated component running: starts it, answers its requests, restarts it with back-off.
class Supervisor {
 public:
  // The component as a child process creates it.
  struct Child {
    const atalaya_component &component;
    std::string label;
    std::string create_order;  // encode_order
  };

  // Starts the thread. `lifecycle` must outlive the supervisor.
  Supervisor(Child child, const Isolation &isolation, Symbols &symbols, Surroundings &surroundings, Launcher &launcher,
             ChildLifecycle &lifecycle);
  Supervisor(const Supervisor &) = delete;
  Supervisor &operator=(const Supervisor &) = delete;
  ~Supervisor();  // waits for the thread; call lifecycle.request_end first

  // Makes the thread check the requested state and the child. Any thread.
  void wake();

 private:
  using Handle = ChildLifecycle::Handle;

  void run();
  void start_child();
  void abandon(const Handle &child, const std::string &why);
  std::optional<Outcome> call(const Handle &child, Op op);  // nothing when the child has ended
  void poll_child(const Handle &child);
  void start_if_requested(const Handle &child);
  void check_cpu(const Handle &child);
  void handle_child_end(const Handle &child);
  void schedule_retry();

  const Child child_;
  const Isolation isolation_;
  Surroundings &surroundings_;
  Launcher &launcher_;
  ChildLifecycle &lifecycle_;
  ChildRequests requests_;
  CpuLimit cpu_limit_;
  Descriptor wake_event_;  // eventfd
  int64_t retry_at_ = 0, back_off_ = 0, started_at_ = 0;
  std::thread thread_;
};

}  // namespace atalaya::core
