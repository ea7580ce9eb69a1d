// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/isolation/child_handle.h"
#include "core/isolation/isolation.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// A component in a process of its own. Calls go there by shared memory; while the process is gone they answer at once that it is
// away. A thread, the supervisor, starts the process, answers its requests, notices its end and restarts it, with back-off.
class RemoteInstance final : public Instance {
 public:
  RemoteInstance(Registry::Component component, Parameters parameters, std::string label, const Isolation &isolation,
                 Symbols &symbols, Surroundings &surroundings, Launcher &launcher);
  ~RemoteInstance() override;

  Outcome create();  // first, once
  Outcome start() override;
  Outcome stop() override;
  Outcome collect(const atalaya_window &window, Batch &batch) override;
  Outcome run() override;
  void acked(uint64_t batch_id, int32_t status) override;
  void interrupt() override;
  Outcome process(const atalaya_window &window, Batch &batch) override;
  Outcome write(const atalaya_batch &batch, int64_t &retry_after_ns) override;
  Outcome flush(int64_t deadline_ns) override;
  Outcome command(const std::vector<std::string> &arguments, int32_t &status) override;
  void end_by(int64_t deadline_ns) override;

 private:
  using Handle = std::shared_ptr<ChildHandle>;
  // The description of the instance, in any process.
  enum class Wish { created, started, stopped, ended };

  // Of the threads that call.
  Handle ready();
  Outcome call(const Handle &child, Call call, int64_t limit_ns);
  Outcome answered(const Handle &child);
  Outcome late(const Handle &child, Op op, int64_t limit_ns);
  Outcome unavailable(const std::string &why) const;
  Outcome take(const Handle &child, Batch &batch);
  void take_emitted(const Handle &child);
  void kill(const Handle &child, const std::string &why);

  // Of the supervisor.
  void keep();
  bool wait_for_turn();
  void bring_up();
  void give_up(const Handle &child, const std::string &why);
  std::optional<Outcome> ask_to(const Handle &child, Op op);  // nothing when the child is gone
  void attend(const Handle &child);
  void start_if_wished(const Handle &child);
  bool serve(const Handle &child);
  std::string reply(uint8_t request, class Reader &reader);
  Catalogue::Outcome declare(class Reader &reader);
  void watch_cpu(const Handle &child);
  int until_look_ms() const;  // at its CPU time; -1: never
  void child_ended(const Handle &child);
  void try_later();
  void wake_supervisor();

  const Isolation isolation_;
  Symbols &symbols_;
  Surroundings &surroundings_;
  Launcher &launcher_;
  Descriptor wake_;  // eventfd

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  Wish wish_ = Wish::created;
  Handle child_;                              // null while there is none
  bool ready_ = false;                        // calls may be made to it
  std::optional<Outcome> created_, started_;  // how the first process answered
  bool interrupted_ = false;
  int64_t end_by_ = INT64_MAX;

  // Of the supervisor alone.
  int64_t turn_at_ = 0, back_off_ = 0, born_at_ = 0;
  int64_t looked_at_ = 0, cpu_then_ = 0;  // at its CPU time, and what it was
  uint32_t names_ = 0, metrics_ = 0;      // that the process added to the agent's
  // Of the thread that runs a push source.
  uint64_t last_emitted_ = 0;

  std::thread keeper_;
};

}  // namespace atalaya::core
