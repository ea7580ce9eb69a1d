// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/now.h"
#include "core/base/text/units.h"
#include "core/isolation/launcher/capabilities.h"

namespace atalaya::core {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstBackOff = kSecond / 10,
                  kMaxBackOff = 32 * kFirstBackOff;  // a restart takes less than 5 s, also after a hang
constexpr int64_t kStableAfter = 10 * kSecond;       // the back-off of a child that ends later is reset
constexpr int64_t kMaxStart = 10 * kSecond;          // create or start
constexpr int kMaxKillMs = 5000;

// Kills a child that has closed its connection but does not end. A process that ends closes its connection shortly before its end.
void kill_disconnected(ChildHandle &child) {
  pollfd wait{child.process().pidfd.get(), POLLIN, 0};
  static constexpr int kEndTimeoutMs = 200;
  if (child.usable() && ::poll(&wait, 1, kEndTimeoutMs) == 0)
    child.kill("closed its connection to the agent; report it to the plugin's author");
}

std::string exit_text(const ChildHandle &child, const Exit &exit) {
  if (std::string why = child.kill_reason(); !why.empty()) return why;
  const std::string report = "; report it to the plugin's author";
  if (!exit.known) return "has ended, and nobody knows why";
  if (exit.signal == 0) return "ended itself with status " + std::to_string(exit.status) + report;
  const char *name = ::sigabbrev_np(exit.signal);
  const std::string signal = "SIG" + (name == nullptr ? std::to_string(exit.signal) : std::string(name));
  if (exit.signal == SIGKILL) return "was killed (SIGKILL), by the system for lack of memory or by somebody";
  return "crashed (" + signal + ")" + report;
}

}  // namespace

Supervisor::Supervisor(Child child, const Isolation &isolation, Symbols &symbols, Surroundings &surroundings, Launcher &launcher,
                       ChildLifecycle &lifecycle)
    : child_(std::move(child)),
      isolation_(isolation),
      surroundings_(surroundings),
      launcher_(launcher),
      lifecycle_(lifecycle),
      requests_(child_.label, symbols, surroundings),
      cpu_limit_(isolation.cpu_percent),
      wake_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { run(); });
}

Supervisor::~Supervisor() {
  wake();
  thread_.join();
}

void Supervisor::wake() {
  const uint64_t one = 1;
  static_cast<void>(::write(wake_event_.get(), &one, sizeof(one)) < 0);
}

void Supervisor::run() {
  while (lifecycle_.wait_for_work(retry_at_)) {
    if (const Handle child = lifecycle_.child())
      poll_child(child);
    else
      start_child();
  }
}

void Supervisor::start_child() {
  auto spawned = ChildHandle::spawn(launcher_, usable_capabilities(child_.component, launcher_.capabilities()),
                                    isolation_.memory_bytes, child_.component.kind == ATALAYA_SINK);
  if (!spawned) return abandon(nullptr, spawned.error());
  const Handle child = *spawned;
  requests_.reset_limits();
  started_at_ = monotonic();
  cpu_limit_.restart(started_at_);
  if (!lifecycle_.set_child(child)) return;
  const auto created = call(child, Op::create);
  if (!created) return handle_child_end(child);
  if (!created->ok()) return abandon(child, created->text);
  child->read_base();
  lifecycle_.set_created();
  start_if_requested(child);
}

// Ends a child that could not be created or started. The first create error is returned to the caller of create; after later errors
// the child is started again.
void Supervisor::abandon(const Handle &child, const std::string &why) {
  if (child) child->kill(why);
  if (lifecycle_.fail_create(why)) return;
  surroundings_.log(LogLevel::error, child_.label + ": cannot be started again: " + why);
  schedule_retry();
}

void Supervisor::start_if_requested(const Handle &child) {
  if (!lifecycle_.start_requested()) return;
  const auto started = call(child, Op::start);
  if (!started) return handle_child_end(child);
  if (!lifecycle_.set_started(*started)) abandon(child, started->text);
}

// Calls create or start. Serves the child's requests until the answer arrives.
std::optional<Outcome> Supervisor::call(const Handle &child, Op op) {
  Call call{.op = op, .announce = 1};
  if (op == Op::create) {
    const std::string &order = child_.create_order;
    if (order.size() > child->memory().size) return Outcome{ATALAYA_BAD_CONFIG, "its parameters are larger than isolation.memory"};
    std::memcpy(child->memory().data, order.data(), order.size());
    call.used = order.size();
  }
  const uint32_t number = child->begin(call);
  const int64_t until = monotonic() + kMaxStart;
  while (!child->answered(number)) {
    if (monotonic() >= until) {
      child->kill(std::string("hangs: ") + (op == Op::create ? "create" : "start") + " took longer than " +
                  format_duration(kMaxStart) + "; report it to the plugin's author");
      return std::nullopt;
    }
    pollfd wait[2] = {{child->requests(), POLLIN, 0}, {child->process().pidfd.get(), POLLIN, 0}};
    ::poll(wait, 2, 100);
    if (wait[0].revents != 0 && !requests_.serve(child->requests())) return std::nullopt;
    if (wait[1].revents != 0 || !child->usable()) return std::nullopt;
  }
  child->take_counts(surroundings_);
  return child->outcome();
}

// Waits for one event of a running child and handles it: a request, its end, a wake, the next check of its CPU time.
void Supervisor::poll_child(const Handle &child) {
  pollfd wait[3] = {{child->requests(), POLLIN, 0}, {child->process().pidfd.get(), POLLIN, 0}, {wake_event_.get(), POLLIN, 0}};
  if (!child->usable()) wait[0].fd = -1;
  const int ready = ::poll(wait, 3, child->usable() ? cpu_limit_.ms_until_check(monotonic()) : kMaxKillMs);
  if (wait[1].revents != 0) return handle_child_end(child);
  if (wait[0].revents != 0 && !requests_.serve(child->requests())) kill_disconnected(*child);
  if (wait[2].revents != 0) {
    uint64_t count = 0;
    static_cast<void>(::read(wake_event_.get(), &count, sizeof(count)) < 0);
    if (lifecycle_.start_pending()) start_if_requested(child);
  }
  if (child->usable()) return check_cpu(child);
  if (ready == 0)
    surroundings_.log(LogLevel::error,
                      child_.label + ": its process " + std::to_string(child->process().pid) +
                          " was killed and does not end; it waits in the kernel (state D), most often for a disk or "
                          "a network file system; until it ends no other one is started");
}

void Supervisor::check_cpu(const Handle &child) {
  const int64_t now = monotonic();
  if (!cpu_limit_.due(now)) return;
  if (const auto percent = cpu_limit_.check(now, child->cpu_ns()))
    child->kill("took " + std::to_string(*percent) + " % of a core for " + format_duration(CpuLimit::kPeriodNs) + ", of " +
                std::to_string(isolation_.cpu_percent) +
                " (isolation.cpu); raise that if it needs more, else report it to the plugin's author");
}

// Removes a child that has ended. One that has only closed its connection is killed; poll_child then waits for its end.
void Supervisor::handle_child_end(const Handle &child) {
  pollfd wait{child->process().pidfd.get(), POLLIN, 0};
  if (::poll(&wait, 1, 0) == 0) {
    kill_disconnected(*child);
    lifecycle_.set_unavailable();
    return;
  }
  const bool requested = lifecycle_.remove_child();
  child->set_ended();
  if (requested) return;
  if (monotonic() - started_at_ > kStableAfter) back_off_ = 0;
  schedule_retry();
  surroundings_.on_restart();
  surroundings_.log(LogLevel::error,
                    child_.label + ": its process " + exit_text(*child, exit_of(child->process())) + "; it is started again");
}

void Supervisor::schedule_retry() {
  back_off_ = back_off_ == 0 ? kFirstBackOff : std::min(2 * back_off_, kMaxBackOff);
  retry_at_ = monotonic() + back_off_;
}

}  // namespace atalaya::core
