// SPDX-License-Identifier: Apache-2.0
#include "plugins/jvm/as_user.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

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

bool capabilities(long call, std::array<__user_cap_data_struct, 2> &data) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(call, &header, data.data()) == 0;
}

}  // namespace

AsUser::AsUser(uint32_t user, uint32_t group)
    : own_user_(::geteuid()), own_group_(::getegid()), dumpable_(::prctl(PR_GET_DUMPABLE)) {
  // From root back to another user all capabilities would go, those that may be taken up again too.
  keeps_ = ::prctl(PR_GET_KEEPCAPS);
  is_user_ = (user == own_user_ && group == own_group_) || (capabilities(SYS_capget, own_capabilities_) && change(user, group));
}

bool AsUser::change(uint32_t user, uint32_t group) {
  if (::prctl(PR_SET_KEEPCAPS, 1) == 0 && set_group(group) && set_user(user)) return true;
  const int error = errno;
  change_back();
  errno = error;
  return false;
}

AsUser::~AsUser() {
  const int error = errno;
  if (is_user_ && (::geteuid() != own_user_ || ::getegid() != own_group_)) change_back();
  errno = error;
}

// Everyone may go back to the real ids. From root to another user the effective capabilities are dropped, the permitted ones stay.
void AsUser::change_back() {
  if (!set_user(own_user_) || !set_group(own_group_) || !capabilities(SYS_capset, own_capabilities_)) std::terminate();
  ::prctl(PR_SET_KEEPCAPS, keeps_);
  ::prctl(PR_SET_DUMPABLE, dumpable_);
}

}  // namespace atalaya::jvm
