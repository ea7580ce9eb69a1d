// SPDX-License-Identifier: Apache-2.0
// The terminal, by ncurses. One at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plugins/commands/top/table.h"

namespace atalaya::top {

class Screen {
 public:
  // Throws Failure if the terminal is not known (TERM).
  Screen();
  Screen(const Screen &) = delete;
  Screen &operator=(const Screen &) = delete;
  ~Screen();

  size_t width() const;
  size_t rows() const;  // for processes
  void draw(const Lines &lines, std::string_view status);
  // The next key within the time; ERR if there is none.
  int key(int wait_ms);
};

}  // namespace atalaya::top
