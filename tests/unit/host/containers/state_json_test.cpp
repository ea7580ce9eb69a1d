// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/state_json.h"

#include <doctest/doctest.h>

#include "tests/unit/host/containers/test_ids.h"

namespace atalaya::containers {
namespace {

std::string docker(const std::string &name, const std::string &labels = "null") {
  return R"({"ID":")" + id("d1") + R"(","Config":{"Labels":)" + labels + R"(},"Name":)" + name + "}";
}

TEST_CASE("docker: the name without its slash, odd ones exactly") {
  Container out;
  REQUIRE(read_docker_config(docker(R"("/web")"), id("d1"), out) == Reading::found);
  CHECK(out.name == "web");
  REQUIRE(read_docker_config(docker(R"("/a \"b\"\n\u00e9")"), id("d1"), out) == Reading::found);
  CHECK(out.name == "a \"b\"\n\xc3\xa9");
}

TEST_CASE("docker: state that has no name, is not JSON or belongs to another container names nothing") {
  const auto reading = [](const std::string &json) {
    Container out;
    const Reading result = read_docker_config(json, id("d1"), out);
    CHECK(out.name.empty());
    return result;
  };
  for (const char *name : {R"("")", R"("/")", "null", "7", "[]", "{}"}) CHECK(reading(docker(name)) == Reading::nothing);
  CHECK(reading(docker("\"" + std::string(kMaxName + 2, 'x') + "\"")) == Reading::nothing);
  const std::string whole = docker(R"("/web")");
  for (size_t size = 0; size < whole.size(); ++size) CHECK(reading(whole.substr(0, size)) == Reading::malformed);
  CHECK(reading("[]") == Reading::malformed);
  CHECK(reading("null") == Reading::malformed);
  CHECK(reading(R"({"ID":")" + id("d2") + R"(","Name":"/web"})") == Reading::malformed);
  CHECK(reading(std::string(100'000, '[')) == Reading::malformed);
  CHECK(reading("{\"ID\":\"\xff\xfe\"}") == Reading::malformed);
  CHECK(reading(std::string(16, '\0')) == Reading::malformed);
}

TEST_CASE("docker: labels of the wrong type are no labels") {
  for (const char *labels : {"[]", "7", R"("x")", R"({"com.docker.compose.service":7})", R"({"io.kubernetes.pod.name":[]})"}) {
    CAPTURE(labels);
    Container out;
    REQUIRE(read_docker_config(docker(R"("/web")", labels), id("d1"), out) == Reading::found);
    CHECK(out.name == "web");
    CHECK(out.service.empty());
    CHECK(out.pod.empty());
  }
}

TEST_CASE("an OCI configuration names its container in annotations, or does not") {
  const auto name = [](const std::string &notes) {
    Container out;
    const Reading reading = read_oci_config(R"({"annotations":)" + notes + "}", out);
    CHECK((reading == Reading::found) == !out.name.empty());
    return out.name;
  };
  CHECK(name(R"({"io.kubernetes.cri.sandbox-name":"db","io.kubernetes.cri.container-name":"pg"})") ==
        "db/pg");  // older: no namespace
  CHECK(name(R"({"io.kubernetes.cri.sandbox-id":"x"})").empty());
  CHECK(name(R"({"io.kubernetes.cri.container-name":"pg"})").empty());  // its pod is unknown
  CHECK(name(R"({"nerdctl/name":"x"})") == "x");
  CHECK(name("null").empty());
  CHECK(name("[1]").empty());
  Container out;
  CHECK(read_oci_config("{}", out) == Reading::nothing);
  CHECK(read_oci_config("{\"annotations\":{", out) == Reading::malformed);
}

TEST_CASE("a storage list: an entry that is no container with a name is skipped") {
  StorageList list;
  const std::string json = R"([7,null,[],{},{"id":"short","names":["a"]},{"id":")" + id("b1") + R"("},{"id":")" + id("b2") +
                           R"(","names":[]},{"id":")" + id("b3") + R"(","names":["web","also"]},{"id":")" + id("b4") +
                           R"(","names":"x"},{"id":")" + id("b5") + R"(","names":["k8s_app"]}])";
  REQUIRE(read_storage_list(json, list) == Reading::found);
  CHECK(list.size() == 2);
  CHECK(list[id("b3")].name == "web");
  CHECK(list[id("b5")].name == "k8s_app");  // not of the kubelet's form
  StorageList none;
  CHECK(read_storage_list("[]", none) == Reading::nothing);
  CHECK(read_storage_list("{}", none) == Reading::malformed);
  CHECK(read_storage_list(json.substr(0, json.size() - 1), none) == Reading::malformed);
  CHECK(none.empty());
}

TEST_CASE("docker's data folder is the one in daemon.json, if it is a folder's path") {
  CHECK(read_docker_data_root(R"({"data-root":"/data/docker"})") == "/data/docker");
  CHECK_FALSE(read_docker_data_root("{}"));
  CHECK_FALSE(read_docker_data_root(R"({"data-root":"docker"})"));
  CHECK_FALSE(read_docker_data_root(R"({"data-root":7})"));
  CHECK_FALSE(read_docker_data_root("{"));
}

TEST_CASE("homes are those of the passwd file") {
  const char *text =
      "root:x:0:0:root:/root:/bin/sh\nbroken\n::::::\nana:x:1000:1000::/home/ana:/bin/sh\nbo:x:10001:1::/b\nc:x:5:5:::\n";
  CHECK(home_in_passwd(text, 1000) == "/home/ana");
  CHECK(home_in_passwd(text, 10001) == "/b");
  CHECK(home_in_passwd(text, 5).empty());
  CHECK(home_in_passwd(text, 1).empty());
  CHECK(home_in_passwd("", 0).empty());
}

}  // namespace
}  // namespace atalaya::containers
