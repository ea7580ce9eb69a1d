// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::jobs {

// A change of a setting, or an action without one.
struct Advice {
  std::string setting, now, proposed;  // now: "" if the history does not have it
  std::string action;
};
// "set spark.executor.memory to 1g (now 512m)"
std::string advice_text(const Advice &advice);

}  // namespace atalaya::jobs
