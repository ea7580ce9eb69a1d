// SPDX-License-Identifier: Apache-2.0
// This thread, and no other, as another user: what it makes belongs to that user, and servers see that user. The user cannot look
// into the process meanwhile, nor signal it.
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace atalaya::jvm {

class AsUser {
 public:
  // Effective ids. It takes CAP_SETUID and CAP_SETGID unless they are the thread's own.
  AsUser(uint32_t user, uint32_t group);
  AsUser(const AsUser &) = delete;
  AsUser &operator=(const AsUser &) = delete;
  ~AsUser();
  explicit operator bool() const { return is_user_; }

 private:
  bool change(uint32_t user, uint32_t group);
  void change_back();

  uid_t own_user_;
  gid_t own_group_;
  std::array<__user_cap_data_struct, 2> own_capabilities_{};
  int dumpable_, keeps_ = 0;
  bool is_user_ = false;
};

}  // namespace atalaya::jvm
