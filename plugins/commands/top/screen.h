// SPDX-License-Identifier: Apache-2.0
// The terminal, drawn with ncurses. Only one object may exist at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plugins/commands/top/table.h"

namespace atalaya::top {

class Screen {
 public:
  // Throws Failure if the terminal type (TERM) is unknown.
  Screen();
  Screen(const Screen &) = delete;
  Screen &operator=(const Screen &) = delete;
  ~Screen();

  size_t width() const;
  size_t rows() const;  // number of rows for processes
  void draw(const Lines &lines, std::string_view status);
  // Waits for the next key, maximum `wait_ms`; ERR if there is none.
  int key(int wait_ms);
};

}  // namespace atalaya::top
