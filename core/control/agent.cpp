// SPDX-License-Identifier: Apache-2.0
#include "core/control/agent.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <future>
#include <thread>

#include "core/base/clock_steps.h"
#include "core/base/log.h"
#include "core/pipeline/clock.h"
#include "core/plugin/active_call.h"

namespace atalaya::core::cli {
namespace {

constexpr int64_t kReloadPoll = 50'000'000;  // interval of checks during a reload
constexpr const char *kIsolateIt = "; isolate = true in its parameters runs it in its own process";
constexpr int64_t kLongCall = 30'000'000'000;

// Reports a call that does not return, once.
void report_long_call(std::string &reported) {
  const std::string call = longest_call(kLongCall).value_or("");
  if (!call.empty() && call != reported) log(LogLevel::warning, call + " has not returned for 30 s" + kIsolateIt);
  reported = call;
}

// Steps of the wall clock, each once.
void report_clock_step(ClockSteps &steps) {
  if (const auto step = steps.check(read_clocks()))
    log(LogLevel::warning, step_text(*step) + "; windows start again, and nothing stored expires by it");
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

}  // namespace

void prepare_process() {
  // Only its user may write files and folders of the agent, whatever umask its parent has.
  ::umask(::umask(0) | S_IWGRP | S_IWOTH);
  // Large short-lived memory, such as the kernel's symbols, is returned to the system. By default glibc raises the threshold to the
  // largest block that was ever freed, and retains twice that size in the arena of each thread.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  report_crashes(STDERR_FILENO, kIsolateIt);
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);  // a lower limit costs time, nothing else
  }
}

bool output_is_closed() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void end_if_output_is_closed() {
  if (!output_is_closed()) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int run_agent(Engine &engine, const AgentOptions &options) {
  const sigset_t set = handled_signals();
  const int64_t begin = read_clocks().monotonic;
  const pthread_t waiter = pthread_self();
  std::promise<bool> ended;
  std::future<bool> clean = ended.get_future();
  std::thread turning([&engine, waiter, &ended] {
    pthread_setname_np(pthread_self(), "engine");
    ended.set_value_at_thread_exit(engine.run());
    pthread_kill(waiter, SIGUSR2);  // every source has ended, or stop was called
  });
  std::future<Status> reload;
  bool reload_wanted = false;
  std::string long_call;
  ClockSteps steps;
  report_clock_step(steps);
  for (bool stopping = false; !stopping;) {
    int64_t wait = reload.valid() ? kReloadPoll : options.tick_ns;
    if (options.for_ns > 0) wait = std::min(wait, std::max<int64_t>(begin + options.for_ns - read_clocks().monotonic, 0));
    const timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
    const int signal = sigtimedwait(&set, nullptr, &timeout);
    reload_wanted = reload_wanted || signal == SIGHUP;
    if (reload.valid() && reload.wait_for(std::chrono::seconds(0)) == std::future_status::ready) options.reloaded(reload.get());
    if (reload_wanted && !reload.valid() && options.reload) {
      reload = options.reload();
      reload_wanted = false;
    }
    stopping = signal == SIGTERM || signal == SIGINT || signal == SIGUSR2 || (options.prints_only && output_is_closed()) ||
               (options.for_ns > 0 && read_clocks().monotonic - begin >= options.for_ns);
    report_long_call(long_call);
    report_clock_step(steps);
    if (!stopping && signal < 0 && options.tick) options.tick();
  }
  if (options.stopping) options.stopping();
  engine.stop();
  if (clean.wait_for(std::chrono::nanoseconds(engine.longest_stop_ns())) == std::future_status::ready && clean.get()) {
    turning.join();
    if (engine.gave_up()) log(LogLevel::error, "every source is off");
    return engine.gave_up() ? kFailed : kDone;
  }
  log(LogLevel::error, longest_call(0).value_or("a call of a component") + " hangs; ending without waiting for it" + kIsolateIt);
  std::fflush(stdout);
  _exit(kFailed);
}

}  // namespace atalaya::core::cli
