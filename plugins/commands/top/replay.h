// SPDX-License-Identifier: Apache-2.0
// Reads windows of a store.
#pragma once

#include <string>
#include <vector>

#include "plugins/commands/top/table.h"
#include "plugins/shared/analysis/command_line/options.h"

namespace atalaya::top {

class Replay {
 public:
  // Throws the exceptions of command_line::Reading.
  Replay(const command_line::ReadOptions &options, std::vector<store::TagFilter> tags);

  // The last window that ends at or before this time (Unix ns). Throws query::Wrong if the store has no window in the day before.
  Window at(int64_t time_ns);
  // The window after (`forward`) or before this one; at the end of the data the same one.
  Window step(const Window &window, bool forward);
  int64_t now_ns() const { return now_ns_; }

 private:
  struct WindowEnd {
    int64_t time_ns = 0, length_ns = 0;
  };
  WindowEnd last_before(int64_t time_ns, int64_t reach_ns);
  Window read(const WindowEnd &place);

  const command_line::ReadOptions options_;
  const std::vector<store::TagFilter> tags_;
  int64_t now_ns_ = 0;
};

}  // namespace atalaya::top
