// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace atalaya::stdout_sink {

// Writes the complete text and waits for a slow reader. Returns 0 or an errno.
int write_all(int fd, std::string_view text);

// Columns of the terminal; 0 if the descriptor is not a terminal.
size_t terminal_width(int fd);

}  // namespace atalaya::stdout_sink
