// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/words.h"

#include <doctest/doctest.h>

using namespace atalaya::http_client;

TEST_CASE("http: the server's words are one safe line") {
  CHECK(error_message(R"({"error":{"code":400,"message":"One bad","details":"x"}})") == "One bad");
  CHECK(error_message(R"({"error":"database is required"})") == "database is required");
  CHECK(error_message("cannot \x1b[31mparse\n") == "cannot \\x1b[31mparse\\x0a");
  CHECK(error_message("") == "no explanation");
  CHECK(error_message(std::string(100000, 'x')).size() == 500);
}
