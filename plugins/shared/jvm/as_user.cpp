// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/jvm/as_user.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <mutex>

namespace atalaya::jvm {
namespace {

constexpr uint32_t kKept = UINT32_MAX;

// The system calls themselves: those of the C library change all threads.
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

// Whether the process can be looked into is the process's, not the thread's: the last thread that goes back restores what the
// first one found.
std::mutex dumpable_mutex;
int users = 0, dumpable = 0;

void note_dumpable() {
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
  // What leads back is tried before anything changes.
  if (!capabilities(SYS_capget, own_capabilities_) || !capabilities(SYS_capset, own_capabilities_)) return;
  if (!set_group(own_group_) || !set_user(own_user_)) return;
  // From root back to another user all capabilities would go, those that may be taken up again too.
  keeps_ = ::prctl(PR_GET_KEEPCAPS);
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0) return;
  note_dumpable();
  has_changed_ = true;
  is_user_ = change(user, group);
  if (is_user_) return;
  const int error = errno;
  change_back();
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
  if (has_changed_) change_back();
  errno = error;
}

// What is permitted may be taken up again, and from root back to another user it is lost once more. That all this is possible was
// tried a moment ago; a thread that the kernel has no memory for waits here, as it must do nothing else as that user.
void AsUser::change_back() {
  static constexpr timespec kPause{0, 100'000'000};
  const auto take_up = [this] { return capabilities(SYS_capset, own_capabilities_); };
  while (!take_up() || !set_group(own_group_) || !set_user(own_user_) || !take_up()) ::nanosleep(&kPause, nullptr);
  ::prctl(PR_SET_KEEPCAPS, keeps_);
  restore_dumpable();
  has_changed_ = false;
}

}  // namespace atalaya::jvm
