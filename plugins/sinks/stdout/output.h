// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace atalaya::stdout_sink {

// Writes all of the text, waiting for a reader that is slow. 0, or the errno.
int write_all(int fd, std::string_view text);

// Columns of the terminal; 0 when the descriptor is none.
size_t terminal_width(int fd);

}  // namespace atalaya::stdout_sink
