// SPDX-License-Identifier: Apache-2.0
// This thread, and no other, as another user: what it makes belongs to that user, and servers see that user. The user cannot look
// into the process meanwhile, nor signal it. The thread's capabilities have no effect meanwhile; its other groups and its real ids
// stay.
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace atalaya::jvm {

class AsUser {
 public:
  // Effective ids. It takes CAP_SETUID and CAP_SETGID unless they are the thread's own, and that the thread may set its ids and
  // capabilities back, which filters of system calls can forbid. False: nothing has changed, errno says why.
  AsUser(uint32_t user, uint32_t group);
  AsUser(const AsUser &) = delete;
  AsUser &operator=(const AsUser &) = delete;
  ~AsUser();
  explicit operator bool() const { return is_user_; }

 private:
  using Capabilities = std::array<__user_cap_data_struct, 2>;

  bool change(uint32_t user, uint32_t group);
  bool drop_capabilities() const;
  void change_back();

  uid_t own_user_;
  gid_t own_group_;
  Capabilities own_capabilities_{};
  int keeps_ = 0;
  bool is_user_ = false, has_changed_ = false;
};

}  // namespace atalaya::jvm
