// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/stdout/output.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

using namespace atalaya::stdout_sink;

TEST_CASE("a slow reader of a non-blocking pipe gets every byte") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  ::fcntl(ends[0], F_SETFL, 0);
  std::string text(1'000'000, 'x');
  for (size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
  std::string got;
  std::thread reader([&] {
    char buffer[1000];
    for (ssize_t size = 1; size > 0;) {
      size = ::read(ends[0], buffer, sizeof(buffer));
      if (size > 0) got.append(buffer, static_cast<size_t>(size));
    }
  });
  const int error = write_all(ends[1], text);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  CHECK(error == 0);
  CHECK(got == text);
}

TEST_CASE("a reader that closed the pipe is an error") {
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  CHECK(write_all(ends[1], "text") == EPIPE);
  ::close(ends[1]);
  ::signal(SIGPIPE, old);
}

TEST_CASE("the width is the terminal's, and 0 without one") {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  winsize size{};
  size.ws_col = 97;
  REQUIRE(::ioctl(terminal, TIOCSWINSZ, &size) == 0);
  CHECK(terminal_width(terminal) == 97);
  ::close(terminal);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(terminal_width(ends[1]) == 0);
  ::close(ends[0]);
  ::close(ends[1]);
}
