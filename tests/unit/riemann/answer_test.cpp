// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/riemann/answer.h"

#include <doctest/doctest.h>

#include <string>

using namespace atalaya::riemann_sink;
using namespace std::string_literals;

TEST_CASE("riemann: an answer is ok, or has the error") {
  CHECK(read_answer("\x10\x01"s)->accepted);
  CHECK(read_answer("\x10\x01"s)->words.empty());
  const auto refused = read_answer("\x10\x00\x1a\x06no\nway"s);
  REQUIRE(refused);
  CHECK_FALSE(refused->accepted);
  CHECK(refused->words == "no\\x0away");
  CHECK(read_answer("\x10\x00"s)->words == "no explanation");
}

TEST_CASE("riemann: long words are cut") {
  const std::string words(600, 'x');
  const auto refused = read_answer("\x10\x00\x1a\xd8\x04"s + words);
  REQUIRE(refused);
  CHECK(refused->words == words.substr(0, 500));
}

TEST_CASE("riemann: invalid answers") {
  CHECK_FALSE(read_answer(""));
  CHECK_FALSE(read_answer("HTTP/1.1 400 Bad Request"));
  CHECK_FALSE(read_answer("\x1a\x03"s + "abc"));          // neither ok nor not
  CHECK_FALSE(read_answer("\x10\x00\x1a\x7f"s + "cut"));  // ends early
  CHECK_FALSE(read_answer(std::string(kMaxAnswerLength + 1, '\x10')));
}

TEST_CASE("riemann: a length is big endian") {
  const unsigned char header[4] = {0x01, 0x02, 0x03, 0xff};
  CHECK(length_of(header) == 0x010203ff);
}
