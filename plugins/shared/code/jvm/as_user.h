// SPDX-License-Identifier: Apache-2.0
// Changes the effective user of this thread, and of no other, in a scope: the thread creates files and connects to servers as that
// user. That user can neither trace nor signal the process, and the thread has no effective capabilities. Supplementary groups and
// real ids are unchanged.
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace atalaya::jvm {

class AsUser {
 public:
  // Sets the effective ids. Requires CAP_SETUID and CAP_SETGID, unless the ids are the thread's own, and permission to restore ids
  // and capabilities, which system call filters can deny. On failure nothing changes, errno is set, and operator bool is false.
  AsUser(uint32_t user, uint32_t group);
  AsUser(const AsUser &) = delete;
  AsUser &operator=(const AsUser &) = delete;
  ~AsUser();
  explicit operator bool() const { return is_user_; }

 private:
  using Capabilities = std::array<__user_cap_data_struct, 2>;

  bool change(uint32_t user, uint32_t group);
  bool drop_capabilities() const;
  void restore();

  uid_t own_user_;
  gid_t own_group_;
  Capabilities own_capabilities_{};
  int keep_capabilities_ = 0;
  bool is_user_ = false, has_changed_ = false;
};

}  // namespace atalaya::jvm
