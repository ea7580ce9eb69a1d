// SPDX-License-Identifier: Apache-2.0
// A thread that asks JVMs for thread dumps, each as often as its part of the budget allows, and adds up what they say.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "plugins/sources/jvm/discovery.h"
#include "plugins/sources/jvm/pace.h"
#include "plugins/sources/jvm/profile.h"
#include "plugins/sources/jvm/shared_file.h"

namespace atalaya::jvm {

// A JVM as long as it lives: its number is used again.
using JvmId = std::pair<int32_t, uint64_t>;
JvmId id_of(const FoundJvm &jvm);

struct SamplerOptions {
  double budget = 0.02;  // of one core, for all JVMs together
  int64_t least_interval_ns = 10'000'000;
  int64_t timeout_ns = 2'000'000'000;
  bool all_threads = false;
};

// What a window brought of one JVM.
struct Profiled {
  Profile::Window profile;
  int64_t cost_ns = 0, pause_ns = 0;
  uint64_t failures = 0, skipped = 0;
};

class Sampler {
 public:
  using Tell = std::function<void(std::string_view)>;

  Sampler(SamplerOptions options, Tell tell) : options_(options), tell_(std::move(tell)) {}
  Sampler(const Sampler &) = delete;
  Sampler &operator=(const Sampler &) = delete;
  ~Sampler() { stop(); }

  void start();
  void stop();
  // From another thread: the JVMs to ask from now on, and what part of a core is spent on them elsewhere: that is of the budget too.
  void use(const std::vector<FoundJvm> &jvms, double spent);
  // Since the last call, of those that are asked.
  std::map<JvmId, Profiled> take_window();
  // There is no window to tell them in: what was counted is told in the next one.
  void skip_window();
  // CPU time of the thread since it began.
  int64_t cpu_ns() const;

 private:
  struct Asked {
    explicit Asked(const FoundJvm &found, bool all_threads)
        : jvm(found), profile(all_threads), pace(found.target.mark.start_ticks * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(found.target.pid)) {}
    FoundJvm jvm;
    Attachment attachment;
    Profile profile;
    Pace pace;
    int64_t next_ns = 0, back_off_ns = 0;
    Profiled window;   // but for its profile
    std::string told;  // what was wrong last
  };
  struct Cost {
    int64_t own_ns = 0, pause_ns = 0;
  };

  void run();
  // Of a core, for each JVM.
  double share() const;
  // The one whose turn is first. Null: there is none.
  std::shared_ptr<Asked> first() const;
  void ask(Asked &asked);
  core::Result<std::string_view> dump(Asked &asked, int64_t &pause_ns);
  void take(Asked &asked, core::Result<std::string_view> &text, int64_t begin_ns, const Cost &cost);
  void fail(Asked &asked, const std::string &error);
  void skip(Asked &asked);

  SamplerOptions options_;
  Tell tell_;
  std::thread thread_;
  std::string bytes_;   // of the thread, these two; their room is used again
  SharedBytes shared_;

  std::mutex mutex_;  // for those below, and for all in Asked but `jvm` and `attachment`
  std::condition_variable changed_;
  bool is_stopped_ = true;
  std::map<JvmId, std::shared_ptr<Asked>> asked_;
  double spent_ = 0;
};

}  // namespace atalaya::jvm
