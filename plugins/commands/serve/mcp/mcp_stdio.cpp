// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/mcp/mcp_stdio.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::serve {
namespace {

constexpr size_t kMaxMessage = size_t{1} << 20;  // equal to the limit of a body over HTTP

bool write_line(int fd, std::string text) {
  return core::write_all(fd, text += '\n') == 0;
}

class Lines {
 public:
  Lines(int in, int stop) : in_(in), stop_(stop) {}

  // Reads a line; false at the end of the input. Of a line that is too long only the start is kept.
  bool next(std::string &line) {
    line.clear();
    for (;;) {
      const size_t end = rest_.find('\n');
      const std::string_view part = std::string_view(rest_).substr(0, end);
      line.append(part.substr(0, kMaxMessage + 1 - std::min(line.size(), kMaxMessage + 1)));
      if (end != std::string::npos) {
        rest_.erase(0, end + 1);
        return true;
      }
      rest_.clear();
      if (!read()) return false;
    }
  }

 private:
  bool read() {
    std::array<pollfd, 2> ready = {{{in_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    while (::poll(ready.data(), ready.size(), -1) < 0)
      if (errno != EINTR) return false;
    if (ready[1].revents != 0) return false;
    std::array<char, 65536> bytes;
    const ssize_t got = ::read(in_, bytes.data(), bytes.size());
    if (got <= 0) return false;
    rest_.assign(bytes.data(), static_cast<size_t>(got));
    return true;
  }

  const int in_, stop_;
  std::string rest_;
};

}  // namespace

void serve_messages(int in, int out, int stop, const std::string &too_long,
                    const std::function<std::string(const std::string &message)> &answer) {
  Lines lines(in, stop);
  for (std::string line; lines.next(line);) {
    if (line.find_first_not_of(" \r") == std::string::npos) continue;
    const std::string text = line.size() > kMaxMessage ? too_long : answer(line);
    if (!text.empty() && !write_line(out, text)) return;
  }
}

}  // namespace atalaya::serve
