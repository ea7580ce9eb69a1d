// SPDX-License-Identifier: Apache-2.0
// The transport "stdio" of the Model Context Protocol: a message per line.
#pragma once

#include <functional>
#include <string>

namespace atalaya::serve {

// Reads messages from `in` and writes the answers to `out`, one after another, until `in` ends, `out` is closed or `stop` (an
// eventfd) becomes readable. A line above 1 MiB is skipped and answered with `too_long`.
void serve_messages(int in, int out, int stop, const std::string &too_long,
                    const std::function<std::string(const std::string &message)> &answer);

}  // namespace atalaya::serve
