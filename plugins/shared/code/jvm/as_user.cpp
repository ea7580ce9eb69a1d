// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/jvm/as_user.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <mutex>

namespace atalaya::jvm {
namespace {

constexpr uint32_t kKept = UINT32_MAX;

// Raw system calls: the C library's wrappers change all threads.
bool set_user(uint32_t user) {
  return ::syscall(SYS_setresuid, kKept, user, kKept) == 0;
}
bool set_group(uint32_t group) {
  return ::syscall(SYS_setresgid, kKept, group, kKept) == 0;
}

template <class Data>
bool capabilities(long call, Data &data) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(call, &header, data.data()) == 0;
}

// The dumpable flag belongs to the process, not to the thread: the last thread to switch back restores the value that the first one
// saved.
std::mutex dumpable_mutex;
int users = 0, dumpable = 0;

void save_dumpable() {
  const std::lock_guard lock(dumpable_mutex);
  if (users++ == 0) dumpable = ::prctl(PR_GET_DUMPABLE);
}

void restore_dumpable() {
  const std::lock_guard lock(dumpable_mutex);
  if (--users == 0) ::prctl(PR_SET_DUMPABLE, dumpable);
}

}  // namespace

AsUser::AsUser(uint32_t user, uint32_t group) : own_user_(::geteuid()), own_group_(::getegid()) {
  if (user == own_user_ && group == own_group_) {
    is_user_ = true;
    return;
  }
  // Tries the calls that switch back before anything changes.
  if (!capabilities(SYS_capget, own_capabilities_) || !capabilities(SYS_capset, own_capabilities_)) return;
  if (!set_group(own_group_) || !set_user(own_user_)) return;
  // Without this, switching from root to another user would clear all capabilities, including the permitted ones.
  keep_capabilities_ = ::prctl(PR_GET_KEEPCAPS);
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0) return;
  save_dumpable();
  has_changed_ = true;
  is_user_ = change(user, group);
  if (is_user_) return;
  const int error = errno;
  restore();
  errno = error;
}

bool AsUser::change(uint32_t user, uint32_t group) {
  return set_group(group) && set_user(user) && drop_capabilities();
}

bool AsUser::drop_capabilities() const {
  Capabilities none = own_capabilities_;
  for (auto &part : none) part.effective = 0;
  return capabilities(SYS_capset, none);
}

AsUser::~AsUser() {
  const int error = errno;
  if (has_changed_) restore();
  errno = error;
}

// Raises the permitted capabilities; switching from root back to another user clears the effective ones, so they are raised again.
// The constructor has tried these calls; if the kernel is out of memory, the thread retries here, because it must do no other work
// as that user.
void AsUser::restore() {
  static constexpr timespec kPause{0, 100'000'000};
  const auto raise = [this] { return capabilities(SYS_capset, own_capabilities_); };
  while (!raise() || !set_group(own_group_) || !set_user(own_user_) || !raise()) ::nanosleep(&kPause, nullptr);
  ::prctl(PR_SET_KEEPCAPS, keep_capabilities_);
  restore_dumpable();
  has_changed_ = false;
}

}  // namespace atalaya::jvm
