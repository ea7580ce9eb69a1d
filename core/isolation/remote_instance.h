// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/isolation/child_lifecycle.h"
#include "core/isolation/isolation.h"
#include "core/isolation/supervisor.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// An isolated component as the engine's threads call it: each call is sent to its process through shared memory. While the process
// does not run, the outcome of a call is `unavailable`, without waiting. The supervisor restarts the process.
class RemoteInstance final : public Instance {
 public:
  RemoteInstance(Registry::Component component, Parameters parameters, std::string label, const Isolation &isolation,
                 Symbols &symbols, Surroundings &surroundings, Launcher &launcher);
  ~RemoteInstance() override;

  Outcome create();  // call it once, before all others
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
  using Handle = ChildLifecycle::Handle;

  Outcome call(const Handle &child, Call call, int64_t limit_ns);
  Outcome handle_answer(const Handle &child);
  Outcome handle_timeout(const Handle &child, Op op, int64_t limit_ns);
  Outcome unavailable(const std::string &why) const;
  Outcome copy_batch(const Handle &child, Batch &batch);
  void forward_emitted(const Handle &child);
  void kill(const Handle &child, const std::string &why);

  const Isolation isolation_;
  Symbols &symbols_;
  Surroundings &surroundings_;
  uint64_t last_emitted_ = 0;  // id; used only by the thread that runs a push source
  ChildLifecycle lifecycle_;
  Supervisor supervisor_;
};

}  // namespace atalaya::core
