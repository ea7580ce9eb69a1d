// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/experiments/experiment_json.h"

#include <doctest/doctest.h>

namespace atalaya::query {
namespace {

using namespace experiments;

constexpr int64_t kSecond = 1'000'000'000;

TEST_CASE("a written experiment reads back the same") {
  const std::vector<Experiment> all = {{"e", "", "ada", "a \"note\"", {{"nodes", "7"}}, 1'700'000'000 * kSecond, 60 * kSecond},
                                       {"e", "w 1", "", "", {}, 1'700'000'010 * kSecond, -1}};
  const std::string json = experiments_json(all);
  const auto read = read_experiments(json, 0);
  REQUIRE(read.size() == 2);
  CHECK(experiments_json(read) == json);
  CHECK(read[1].open());
  CHECK(read[0].tags.at("nodes") == "7");
}

TEST_CASE("documents of the time stamping tool are read") {
  const auto read = read_experiments(
      R"([{"type":"experiment","info":{"username":"u","start_time":1700000000,"end_time":1700000060,"experiment_id":"E"}},
          {"type":"test","info":{"username":"u","start_time":1700000001,"experiment_id":"E","test_id":"E_T","test_name":"T"}},
          {"experiment_id":"F","username":"u","start_time":1700000002}])",
      0);
  REQUIRE(read.size() == 3);
  CHECK(read[0].duration_ns == 60 * kSecond);
  CHECK(read[1].workload == "T");
  CHECK(read[2].name == "F");
  CHECK(reference_document(read[1]) ==
        R"({"experiment_id":"E","test_id":"E_T","test_name":"T","username":"u","start_time":1700000001})");
}

TEST_CASE("an invalid experiment is refused with the reason") {
  const auto error = [](const char *json) {
    try {
      read_experiments(json, 0);
    } catch (const Wrong &wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  CHECK(error("{").find("not JSON of experiments: ") == 0);
  CHECK(error("[1]") == "not JSON of experiments: expected an object, or a list of objects");
  CHECK(error(R"({"experiment":"e"})") == "not JSON of experiments: experiment \"e\" has no start");
  CHECK(error(R"({"experiment":"e","start":2000,"end":1000})") ==
        "not JSON of experiments: experiment \"e\" ends before it begins");
  CHECK(error(R"({"experiment":"e","start":true})").find("\"start\": ") != std::string::npos);
  CHECK(error(R"({"experiment":"<x>","start":1})").find("is no name") != std::string::npos);
}

}  // namespace
}  // namespace atalaya::query
