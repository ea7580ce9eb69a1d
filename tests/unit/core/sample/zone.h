// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <ctime>

namespace atalaya::core::testing {

// The local zone while this lives, as a rule of tzset(3): "CET-1" is one hour ahead of UTC.
class Zone {
 public:
  explicit Zone(const char *rule) {
    ::setenv("TZ", rule, 1);
    ::tzset();
  }
  ~Zone() {
    ::unsetenv("TZ");
    ::tzset();
  }
  Zone(const Zone &) = delete;
  Zone &operator=(const Zone &) = delete;
};

}  // namespace atalaya::core::testing
