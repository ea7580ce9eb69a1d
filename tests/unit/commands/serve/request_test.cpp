// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/http/request.h"

#include <doctest/doctest.h>

#include "plugins/commands/serve/pprof/stacks.h"

namespace atalaya::serve {
namespace {

TEST_CASE("a form is decoded, and an invalid one is refused") {
  Request request;
  REQUIRE(read_form("query=a%7Bb%3D%22c+d%22%7D&step=5&&empty=&flag", request.arguments));
  CHECK(request.text("query") == "a{b=\"c d\"}");
  CHECK(request.text("step") == "5");
  CHECK(request.argument("empty") != nullptr);
  CHECK(request.flag("flag"));
  CHECK_FALSE(request.flag("nothing"));
  CHECK(request.texts("step") == std::vector<std::string>{"5"});
  CHECK_FALSE(read_form("a=%zz", request.arguments));
  CHECK_FALSE(read_form("a=%2", request.arguments));
}

TEST_CASE("errors have OpenTSDB's form") {
  CHECK(error_answer(400, "a \"b\"").body == R"({"error":{"code":400,"message":"a \"b\""}})");
}

TEST_CASE("a stack's sum goes to each of its frames at its position, also when a name comes twice") {
  const StackSums sums = {{"a;b;a", 2}, {"a;c", 1}};
  CHECK(sums_json(sums) == R"({"a;b;a":2,"a;c":1})");
  CHECK(tree_json(sums) ==
        R"({"profile":{"n":"root","c":{"RUNNABLE":3},"a":[{"n":"a","c":{"RUNNABLE":3},"a":[)"
        R"({"n":"b","c":{"RUNNABLE":2},"a":[{"n":"a","c":{"RUNNABLE":2},"a":[]}]},{"n":"c","c":{"RUNNABLE":1},"a":[]}]}]}})");
  CHECK(sums_json({}) == "{}");
}

}  // namespace
}  // namespace atalaya::serve
