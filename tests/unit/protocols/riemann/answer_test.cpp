// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/riemann/answer.h"

#include <doctest/doctest.h>

#include <string>

using namespace atalaya;
using namespace atalaya::protocols;
using namespace std::string_literals;

TEST_CASE("riemann: an answer is ok, or has the error") {
  CHECK(protocols::read_answer("\x10\x01"s)->accepted);
  CHECK(protocols::read_answer("\x10\x01"s)->server_message.empty());
  const auto refused = protocols::read_answer("\x10\x00\x1a\x06no\nway"s);
  REQUIRE(refused);
  CHECK_FALSE(refused->accepted);
  CHECK(refused->server_message == "no\\x0away");
  CHECK(protocols::read_answer("\x10\x00"s)->server_message == "no explanation");
}

TEST_CASE("riemann: long words are cut") {
  const std::string server_message(600, 'x');
  const auto refused = protocols::read_answer("\x10\x00\x1a\xd8\x04"s + server_message);
  REQUIRE(refused);
  CHECK(refused->server_message == server_message.substr(0, 500));
}

TEST_CASE("riemann: invalid answers") {
  CHECK_FALSE(protocols::read_answer(""));
  CHECK_FALSE(protocols::read_answer("HTTP/1.1 400 Bad Request"));
  CHECK_FALSE(protocols::read_answer("\x1a\x03"s + "abc"));          // neither ok nor not
  CHECK_FALSE(protocols::read_answer("\x10\x00\x1a\x7f"s + "cut"));  // ends early
  CHECK_FALSE(protocols::read_answer(std::string(protocols::kMaxAnswerLength + 1, '\x10')));
}

TEST_CASE("riemann: a length is big endian") {
  const unsigned char header[4] = {0x01, 0x02, 0x03, 0xff};
  CHECK(protocols::length_of(header) == 0x010203ff);
}
