// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/active_call.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "core/base/now.h"

namespace atalaya::core {
namespace {

// The current call of one thread. A signal handler of any thread may read it.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<const char *> label{nullptr}, operation{nullptr};
  std::atomic<int64_t> since{0};
};

constexpr size_t kMaxThreads = 256;  // calls of further threads are not named
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::array kSignals = {SIGABRT};  // sanitizers report the other signals
#else
constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
#endif

std::array<Slot, kMaxThreads> slots;
std::atomic<int> crash_descriptor{-1};
std::atomic<const char *> crash_advice{""};

class OwnSlot {
 public:
  OwnSlot() {
    for (Slot &slot : slots) {
      bool free = false;
      if (!slot.taken.compare_exchange_strong(free, true)) continue;
      slot_ = &slot;
      return;
    }
  }
  OwnSlot(const OwnSlot &) = delete;
  OwnSlot &operator=(const OwnSlot &) = delete;
  ~OwnSlot() {
    if (slot_ != nullptr) slot_->taken = false;
  }
  Slot *get() const { return slot_; }

 private:
  Slot *slot_ = nullptr;
};

thread_local Slot *own = nullptr;  // the slot of this thread, for its signal handler

Slot *own_slot() {
  thread_local const OwnSlot slot;
  return own = slot.get();
}

// Uses only async-signal-safe functions.
void write_text(const char *text) {
  (void)!::write(crash_descriptor, text, std::strlen(text));
}

const Slot *longest(int64_t before) {
  const Slot *found = nullptr;
  for (const Slot &slot : slots) {
    const char *operation = slot.operation;
    if (operation == nullptr || std::strcmp(operation, "run") == 0 || slot.since > before) continue;
    if (found == nullptr || slot.since < found->since) found = &slot;
  }
  return found;
}

void write_call(const Slot &slot) {
  const char *label = slot.label;
  const char *operation = slot.operation;
  write_text(label == nullptr ? "a component" : label);
  write_text(": ");
  write_text(operation == nullptr ? "" : operation);
}

// A thread that a plugin started has no current call: the file of its code identifies the plugin.
const char *file_of(const void *context) {
#if defined(__x86_64__)
  const auto address = static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  const auto address = static_cast<const ucontext_t *>(context)->uc_mcontext.pc;
#else
  const uintptr_t address = 0;
  (void)context;
#endif
  Dl_info about{};
  return ::dladdr(reinterpret_cast<void *>(address), &about) != 0 ? about.dli_fname : nullptr;  // NOLINT
}

void handle_crash(int signal, siginfo_t *, void *context) {
  ::signal(signal, SIG_DFL);
  const Slot *call = own != nullptr && own->operation != nullptr ? own : nullptr;
  const bool aborted = signal == SIGABRT;  // also the watchdog of a service manager, which reaches no call
  if (call == nullptr && aborted) call = longest(INT64_MAX);
  if (call != nullptr) {
    write_call(*call);
  } else {
    ::alarm(5);  // the lookup takes a lock that the crash may hold
    const char *file = file_of(context);
    write_text(file == nullptr ? "atalaya" : file);
  }
  const char *name = ::sigabbrev_np(signal);
  write_text(" crashed (SIG");
  write_text(name == nullptr ? "?" : name);
  write_text(")");
  write_text(crash_advice);
  write_text("\n");
  ::raise(signal);
}

}  // namespace

ActiveCall::ActiveCall(const char *label, const char *operation) : label_before_(nullptr), operation_before_(nullptr) {
  Slot *slot = own_slot();
  if (slot == nullptr) return;
  label_before_ = slot->label.exchange(label);
  operation_before_ = slot->operation.exchange(operation);
  if (operation_before_ == nullptr) slot->since = monotonic();
}

ActiveCall::~ActiveCall() {
  if (own == nullptr) return;
  own->operation = operation_before_;
  own->label = label_before_;
}

std::optional<std::string> longest_call(int64_t min_ns) {
  const Slot *slot = longest(monotonic() - min_ns);
  if (slot == nullptr) return std::nullopt;
  const char *label = slot->label;
  const char *operation = slot->operation;
  if (label == nullptr || operation == nullptr) return std::nullopt;  // the call has returned
  return std::string(label) + ": " + operation;
}

void report_crashes(int descriptor, const char *advice) {
  crash_descriptor = descriptor;
  crash_advice = advice;
  struct sigaction action {};
  action.sa_sigaction = handle_crash;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

}  // namespace atalaya::core
