// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>

namespace atalaya::core {
namespace {

// The lines that `work` logs, which fit into a pipe.
std::string logged_by(const std::function<void()> &work) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(pipe[1], STDERR_FILENO);
  work();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(pipe[1]);
  std::string text(65536, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(::read(pipe[0], text.data(), text.size()), 0)));
  ::close(pipe[0]);
  return text;
}

TEST_CASE("a thousand texts about malformed lines are five lines of the log") {
  const std::string text = logged_by([] {
    for (int i = 0; i < 1000; ++i)
      log_limited(LogLevel::warning,
                  "source \"logs\": line \"bad " + std::to_string(i * i) + "\": no number at " + std::to_string(i));
    log_limited(LogLevel::warning, "source \"logs\": cannot open a file");
  });
  CHECK(std::count(text.begin(), text.end(), '\n') == 6);
  CHECK(text.find("bad 16\": no number at 4\n") != std::string::npos);
  CHECK(text.find("cannot open a file") != std::string::npos);
}

TEST_CASE("one text is one line a minute, and causes with a key are independent of similar ones") {
  const std::string text = logged_by([] {
    for (int i = 0; i < 20; ++i) log_limited(LogLevel::warning, "the queue is full");
    for (int i = 0; i < 20; ++i)
      log_limited(LogLevel::warning, "sink " + std::to_string(i) + " failed", "sink " + std::to_string(i));
  });
  CHECK(std::count(text.begin(), text.end(), '\n') == 21);
}

}  // namespace
}  // namespace atalaya::core
