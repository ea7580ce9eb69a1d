// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/deadlines.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

using namespace atalaya::http_client;
using namespace std::chrono_literals;

namespace {

std::array<int, 2> connected() {
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  return pair;
}

}  // namespace

TEST_CASE("http: a socket that gets the number of one that was closed under watch is not shut down in its place") {
  Deadlines deadlines;
  const auto closed = connected();
  const auto last = connected();
  const Deadline deadline = std::chrono::steady_clock::now() + 50ms;
  const Deadlines::Guard guard(deadlines, closed[0], deadline);
  const Deadlines::Guard later(deadlines, last[0], deadline + 1ms);
  ::close(closed[0]);
  const auto other = connected();
  REQUIRE(other[0] == closed[0]);
  char byte = 'x';
  CHECK(::recv(last[1], &byte, 1, 0) == 0);  // both deadlines are over
  CHECK(::send(other[1], &byte, 1, MSG_NOSIGNAL) == 1);
  CHECK(::recv(other[0], &byte, 1, MSG_DONTWAIT) == 1);
  for (const int socket : {closed[1], last[0], last[1], other[0], other[1]}) ::close(socket);
}
