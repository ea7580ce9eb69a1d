// SPDX-License-Identifier: Apache-2.0
// Finds the complete names of threads that may run tasks, on a separate thread: requests a
// thread dump from their JVM while names are unknown, limited to a share of CPU time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/shared/code/jvm/attach.h"
#include "plugins/sources/perf/tasks/task_threads.h"

namespace atalaya::perf {

class TaskNamer {
 public:
  using Report = std::function<void(std::string_view)>;

  TaskNamer(std::shared_ptr<const tasks::TaskNames> names, Report report)
      : names_(std::move(names)), report_(std::move(report)), threads_(*names_) {}
  TaskNamer(const TaskNamer &) = delete;
  TaskNamer &operator=(const TaskNamer &) = delete;
  ~TaskNamer() { stop(); }

  void start();
  void stop();

  // The methods below may be called from any thread.
  void add(const std::vector<Renamed> &renamed);
  // Waits up to `timeout_ns` until the names of running threads are known.
  void wait_for_names(int64_t timeout_ns);
  // Returns the task of a stack; absent: no task or, with is_unnamed set, an unknown one.
  std::optional<tasks::TaskTags> find(const StackCount &stack, bool &is_unnamed);
  // Starts a window; forgets names that ended before `keeps_since_ns`.
  void next_window(int64_t keeps_since_ns);

 private:
  struct Jvm {
    jvm::Target target;
    jvm::Attachment attachment;
    int64_t next_ns = 0, back_off_ns = 0;
    int64_t answering_ns = 0;  // CPU time, since its start, of the JVM's thread that writes dumps
    std::string last_error;
  };

  void run();
  // Requests the due dumps. Returns the time of the next one; absent: no name is unknown.
  std::optional<int64_t> name_threads(std::unique_lock<std::mutex> &lock);
  Jvm *jvm_of(const ProcessId &id, std::unique_lock<std::mutex> &lock);
  void dump(const ProcessId &id, Jvm &jvm, const std::vector<uint32_t> &wanted, std::unique_lock<std::mutex> &lock);
  void forget_ended();

  const std::shared_ptr<const tasks::TaskNames> names_;
  const Report report_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_, settled_;
  TaskThreads threads_;
  bool is_stopping_ = false;
  bool has_new_names_ = false;  // names were added since the namer's thread last checked
  bool is_idle_ = true;         // no JVM can supply an unknown name soon

  std::map<ProcessId, Jvm> jvms_;  // used by the thread only
  std::string bytes_;
  std::thread thread_;
};

}  // namespace atalaya::perf
