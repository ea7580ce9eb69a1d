// SPDX-License-Identifier: Apache-2.0
// A thread that finds JVMs, asks them for thread dumps, each as often as its part of the budget allows, and adds up what they say.
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

#include "plugins/sources/jvm/discovery.h"
#include "plugins/sources/jvm/numbers.h"
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
  FoundJvm jvm;
  Identity identity;
  std::optional<Reading> last;  // of what it shares, at its last dump
  Profile::Window profile;
  int64_t cost_ns = 0, pause_ns = 0;
  uint64_t failures = 0, skipped = 0;
  bool is_whole = false;  // it was among those that are asked from the window's beginning on

  bool has_news() const { return profile.dumps > 0 || failures > 0 || skipped > 0; }
};

class Sampler {
 public:
  // Further ones are not asked.
  static constexpr size_t kMostAsked = 256;

  using Tell = std::function<void(std::string_view)>;
  // Whether a JVM that shares these bytes is to be asked. From the sampler's thread.
  using Wanted = std::function<bool(const FoundJvm &, std::string_view)>;

  Sampler(SamplerOptions options, Wanted wanted, Tell tell)
      : options_(options), wanted_(std::move(wanted)), tell_(std::move(tell)) {}
  Sampler(const Sampler &) = delete;
  Sampler &operator=(const Sampler &) = delete;
  ~Sampler() { stop(); }

  void start();
  void stop();
  // From another thread: what came since the last call, also of those that have ended since; and what part of a core is spent on
  // JVMs elsewhere: that is of the budget too.
  std::map<JvmId, Profiled> take_window(double spent);
  // There is no window to tell them in: what failed is told in the next one.
  void skip_window();
  // CPU time of the thread since it began.
  int64_t cpu_ns() const;

 private:
  struct Asked {
    Asked(const FoundJvm &found, Identity who, bool all_threads, const StackTree::Limits &limits)
        : jvm(found),
          identity(std::move(who)),
          profile(all_threads, limits),
          pace(found.target.mark.start_ticks * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(found.target.pid)) {}
    FoundJvm jvm;
    Identity identity;
    Attachment attachment;
    Profile profile;
    Pace pace;
    int64_t next_ns = 0, back_off_ns = 0;
    bool is_slow = true;                     // it keeps others waiting, or may do so: it has not answered yet
    bool has_ended = false, is_old = false;  // is_old: it was here at the last call of take_window
    Profiled window;                         // but for its profile
    std::string told;                        // what was wrong last
  };
  // What one call of a JVM brought but its text, and what it cost.
  struct Called {
    int64_t begin_ns = 0, own_ns = 0, pause_ns = 0;
    std::optional<Reading> last;
  };

  void run();
  // For JVMs that have begun, and those that have ended.
  void look();
  bool is_asked(const JvmId &id);
  void add(const FoundJvm &jvm);
  void end(Asked &asked);
  // Of a core, for each JVM.
  double share() const;
  StackTree::Limits limits() const;
  int64_t due(const Asked &asked) const;
  // The one whose turn is first. Null: there is none.
  std::shared_ptr<Asked> first() const;
  void ask(Asked &asked);
  core::Result<std::string_view> dump(Asked &asked, Called &called);
  void take(Asked &asked, core::Result<std::string_view> &text, const Called &called);
  void fail(Asked &asked, const std::string &error);
  void skip(Asked &asked);

  SamplerOptions options_;
  Wanted wanted_;
  Tell tell_;
  std::thread thread_;
  // Of the thread, these. The room of bytes is used again.
  std::string bytes_;
  SharedBytes shared_;
  Discovery discovery_;
  Pace look_pace_{1};
  bool is_full_told_ = false;

  std::mutex mutex_;  // for those below, and for all in Asked but `jvm` and `attachment`
  std::condition_variable changed_;
  bool is_stopped_ = true;
  std::map<JvmId, std::shared_ptr<Asked>> asked_;
  std::map<uint32_t, int64_t> slow_until_ns_;  // by user
  int64_t look_ns_ = 0;                        // when JVMs are looked for again
  double spent_ = 0, looking_ = 0;
};

}  // namespace atalaya::jvm
