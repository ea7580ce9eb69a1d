// SPDX-License-Identifier: Apache-2.0
// The supervisor of a remote instance: the thread that starts its process, answers it, notices its end and restarts it.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/now.h"
#include "core/base/text/units.h"
#include "core/isolation/launcher/capabilities.h"
#include "core/isolation/remote_instance.h"
#include "core/isolation/wire.h"

namespace atalaya::core {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstBackOff = kSecond / 10, kMaxBackOff = 32 * kFirstBackOff;  // back within 5 s, also after a hang
constexpr int64_t kGoodLife = 10 * kSecond;                                        // after it, an end is the first one again
constexpr int64_t kMaxStart = 10 * kSecond;                                        // create or start
constexpr int64_t kCpuLook = 10 * kSecond;                                         // the period of isolation.cpu
constexpr int kMaxDeath = 5000;                                                    // ms
constexpr uint32_t kMaxNames = uint32_t{1} << 16;                                  // that one process may add to the agent's

constexpr uint32_t kMaxMetrics = uint32_t{1} << 13;

// The connection to the child is over. A process that ends closes it a moment before it is gone.
void end_soon(ChildHandle &child) {
  pollfd wait{child.born().process.get(), POLLIN, 0};
  static constexpr int kMomentMs = 200;
  if (child.usable() && ::poll(&wait, 1, kMomentMs) == 0)
    child.kill("closed its connection to the agent; report it to the plugin's author");
}

std::string exit_text(const ChildHandle &child, const Exit &exit) {
  if (std::string why = child.killed_for(); !why.empty()) return why;
  const std::string report = "; report it to the plugin's author";
  if (!exit.known) return "has ended, and nobody knows why";
  if (exit.signal == 0) return "ended itself with status " + std::to_string(exit.status) + report;
  const char *name = ::sigabbrev_np(exit.signal);
  const std::string signal = "SIG" + (name == nullptr ? std::to_string(exit.signal) : std::string(name));
  if (exit.signal == SIGKILL) return "was killed (SIGKILL), by the system for lack of memory or by somebody";
  return "crashed (" + signal + ")" + report;
}

}  // namespace

void RemoteInstance::keep() {
  while (wait_for_turn()) {
    Handle child;
    {
      const std::lock_guard lock(mutex_);
      child = child_;
    }
    if (child)
      attend(child);
    else
      bring_up();
  }
}

// False at the end. Without a child it is time for one when the back-off is over and somebody will call it.
bool RemoteInstance::wait_for_turn() {
  std::unique_lock lock(mutex_);
  while (wish_ != Wish::ended) {
    if (child_) return true;
    if (wish_ == Wish::stopped && created_) {
      changed_.wait(lock);
    } else if (monotonic() >= turn_at_) {
      return true;
    } else {
      changed_.wait_until(lock, at(turn_at_));
    }
  }
  return false;
}

void RemoteInstance::bring_up() {
  auto spawned = ChildHandle::spawn(launcher_, usable_capabilities(component(), launcher_.given()), isolation_.memory_bytes,
                                    component().kind == ATALAYA_SINK);
  if (!spawned) return give_up(nullptr, spawned.error());
  const Handle child = *spawned;
  names_ = metrics_ = 0;
  born_at_ = looked_at_ = monotonic();
  cpu_then_ = 0;
  {
    const std::lock_guard lock(mutex_);
    if (wish_ == Wish::ended) return;
    child_ = child;
    child->end_by(end_by_);
  }
  const auto created = ask_to(child, Op::create);
  if (!created) return child_ended(child);
  if (!created->ok()) return give_up(child, created->text);
  child->learn_base();
  {
    const std::lock_guard lock(mutex_);
    if (!created_) created_ = Outcome{};
    changed_.notify_all();
  }
  start_if_wished(child);
}

// The first error goes to the caller; later ones are retried.
void RemoteInstance::give_up(const Handle &child, const std::string &why) {
  if (child) child->kill(why);
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = !created_;
    if (first) created_ = Outcome{ATALAYA_BAD_CONFIG, why};
    child_ = nullptr;
    ready_ = false;
    if (first) wish_ = Wish::stopped;
    changed_.notify_all();
  }
  if (first) return;
  surroundings_.log(LogLevel::error, label_ + ": cannot be started again: " + why);
  try_later();
}

void RemoteInstance::start_if_wished(const Handle &child) {
  {
    const std::lock_guard lock(mutex_);
    if (wish_ != Wish::started) return;
  }
  const auto started = ask_to(child, Op::start);
  if (!started) return child_ended(child);
  bool failed_again = false;
  {
    const std::lock_guard lock(mutex_);
    ready_ = true;
    failed_again = started_.has_value() && !started->ok();
    if (!started_) started_ = *started;
    changed_.notify_all();
  }
  if (failed_again) give_up(child, started->text);
}

// The calls that the supervisor makes itself: between two looks at the answer it serves the child's requests.
std::optional<Outcome> RemoteInstance::ask_to(const Handle &child, Op op) {
  Call call{.op = op, .announce = 1};
  if (op == Op::create) {
    const std::string order =
        encode_order({component_.plugin->path(), component().kind, text_of(component().name), label_, parameters_});
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
    pollfd wait[2] = {{child->requests(), POLLIN, 0}, {child->born().process.get(), POLLIN, 0}};
    ::poll(wait, 2, 100);
    if (wait[0].revents != 0 && !serve(child)) return std::nullopt;
    if (wait[1].revents != 0 || !child->usable()) return std::nullopt;
  }
  child->take_counts(surroundings_);
  return child->outcome();
}

// Until something is to be done with it: its requests, its end, a wish.
void RemoteInstance::attend(const Handle &child) {
  pollfd wait[3] = {{child->requests(), POLLIN, 0}, {child->born().process.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  if (!child->usable()) wait[0].fd = -1;
  const int ready = ::poll(wait, 3, child->usable() ? until_look_ms() : kMaxDeath);
  if (wait[1].revents != 0) return child_ended(child);
  if (wait[0].revents != 0 && !serve(child)) end_soon(*child);
  if (wait[2].revents != 0) {
    uint64_t count = 0;
    static_cast<void>(::read(wake_.get(), &count, sizeof(count)) < 0);
    bool due = false;
    {
      const std::lock_guard lock(mutex_);
      due = wish_ == Wish::started && !started_;
    }
    if (due) start_if_wished(child);
  }
  if (child->usable()) return watch_cpu(child);
  if (ready == 0)
    surroundings_.log(LogLevel::error,
                      label_ + ": its process " + std::to_string(child->born().pid) +
                          " was killed and does not end; it waits in the kernel (state D), most often for a disk or "
                          "a network file system; until it ends no other one is started");
}

int RemoteInstance::until_look_ms() const {
  if (isolation_.cpu_percent == 0) return -1;
  return static_cast<int>(std::max<int64_t>(looked_at_ + kCpuLook - monotonic(), 0) / 1'000'000 + 1);
}

void RemoteInstance::watch_cpu(const Handle &child) {
  const int64_t now = monotonic();
  if (isolation_.cpu_percent == 0 || now < looked_at_ + kCpuLook) return;
  const int64_t cpu = child->cpu_ns();
  const int64_t percent = 100 * (cpu - cpu_then_) / (now - looked_at_);
  looked_at_ = now;
  cpu_then_ = cpu;
  if (percent > isolation_.cpu_percent)
    child->kill("took " + std::to_string(percent) + " % of a core for " + format_duration(kCpuLook) + ", of " +
                std::to_string(isolation_.cpu_percent) +
                " (isolation.cpu); raise that if it needs more, else report it to the plugin's author");
}

// Answers one request; false when the connection is over.
bool RemoteInstance::serve(const Handle &child) {
  const auto message = receive_message(child->requests(), MSG_DONTWAIT);
  if (!message) return errno == EAGAIN;
  Reader reader(*message);
  const auto request = reader.number<uint8_t>();
  if (request == static_cast<uint8_t>(Request::answered)) return true;
  return send_message(child->requests(), reply(request, reader));
}

std::string RemoteInstance::reply(uint8_t request, Reader &reader) {
  Writer to;
  switch (static_cast<Request>(request)) {
    case Request::log: {
      const auto level = std::clamp(reader.number<int32_t>(), ATALAYA_LOG_ERROR, ATALAYA_LOG_DEBUG);
      surroundings_.log(static_cast<LogLevel>(level), reader.text());
      break;
    }
    case Request::intern: {
      const std::string_view name = reader.text();
      const uint32_t before = symbols_.size();
      const uint32_t id = names_ < kMaxNames ? symbols_.intern(name) : 0;
      if (symbols_.size() > before) ++names_;
      to.number(id);
      break;
    }
    case Request::name_of:
      to.text(symbols_.name(reader.number<uint32_t>()));
      break;
    case Request::state_dir:
      to.text(surroundings_.state_dir().value_or(""));
      break;
    case Request::ledger: {
      atalaya_ledger_row row{};
      const bool found = surroundings_.ledger(reader.number<uint64_t>(), row);
      to.number(uint8_t{found});
      if (found) write_row(row, to);
      break;
    }
    case Request::metric_of: {
      const atalaya_metric_info *info = symbols_.metric(reader.number<uint32_t>());
      to.number(uint8_t{info != nullptr});
      if (info != nullptr) write_metric(*info, to);
      break;
    }
    case Request::declare:
      to.number(declare(reader));
      break;
    case Request::answered:
      break;
  }
  return to.bytes().empty() ? std::string(1, '\0') : to.bytes();
}

Catalogue::Outcome RemoteInstance::declare(Reader &reader) {
  const std::string_view name = reader.text();
  const atalaya_metric_info info = read_metric(reader);
  if (!reader.ok()) return Catalogue::Outcome::invalid;
  if (metrics_ >= kMaxMetrics) return Catalogue::Outcome::full;
  const Catalogue::Outcome outcome = symbols_.declare(name, info, label());
  if (outcome == Catalogue::Outcome::added) ++metrics_;
  return outcome;
}

void RemoteInstance::child_ended(const Handle &child) {
  pollfd wait{child->born().process.get(), POLLIN, 0};
  if (::poll(&wait, 1, 0) == 0) {
    end_soon(*child);  // attend sees it, or says that it does not end
    const std::lock_guard lock(mutex_);
    ready_ = false;
    if (!created_) created_ = Outcome{};
    if (wish_ == Wish::started && !started_) started_ = Outcome{};
    changed_.notify_all();
    return;
  }
  bool ending = false;
  {
    const std::lock_guard lock(mutex_);
    child_ = nullptr;
    ready_ = false;
    ending = wish_ == Wish::stopped || wish_ == Wish::ended;
    // A component that crashes does not prevent the start: it is unavailable for now.
    if (!created_) created_ = Outcome{};
    if (wish_ == Wish::started && !started_) started_ = Outcome{};
    changed_.notify_all();
  }
  child->is_gone();
  if (ending) return;
  if (monotonic() - born_at_ > kGoodLife) back_off_ = 0;
  try_later();
  surroundings_.restarted();
  surroundings_.log(LogLevel::error,
                    label_ + ": its process " + exit_text(*child, exit_of(child->born())) + "; it is started again");
}

void RemoteInstance::try_later() {
  back_off_ = back_off_ == 0 ? kFirstBackOff : std::min(2 * back_off_, kMaxBackOff);
  turn_at_ = monotonic() + back_off_;
}

}  // namespace atalaya::core
