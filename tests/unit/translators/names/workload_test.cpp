// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "plugins/translators/names/resolve/resolver.h"
#include "tests/unit/translators/names/fake_processes.h"

namespace atalaya::testing {

using namespace names;

TEST_CASE("the process of a pod has the tag of its workload, unless the pod is the node's own") {
  const FakeProcesses fake;
  const auto run = [&](int pid, const std::string &uid, const std::string &pod) {
    const std::string id(64, static_cast<char>('a' + pid % 6));
    const std::string folder = fake.root() + "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + id;
    std::filesystem::create_directories(folder);
    FakeProcesses::write(folder + "/config.json", R"({"annotations":{"io.kubernetes.cri.sandbox-namespace":"shop",)"
                                                  R"("io.kubernetes.cri.container-name":"app","io.kubernetes.cri.sandbox-name":")" +
                                                      pod + "\"}}");
    fake.put({.pid = pid, .name = "app", .cgroup = "0::/kubepods/burstable/pod" + uid + "/" + id + "\n"});
    Resolver resolver(std::make_shared<const Rules>(std::move(*Rules::make({}))), {.root = fake.root(), .places = true});
    const Answer answer = resolver.answer({.pid = pid, .requested_ns = INT64_MAX});
    CHECK(answer.places[2] == pod);
    return answer.places[kWorkload];
  };
  const std::string uid = "8f1c3c2e-0f6b-4b3c-9a57-2f1f0e6f9a11";
  CHECK(run(10, uid, "web-5d4f8c7b9d-x2k4q") == "web");
  CHECK(run(11, uid, "db-0") == "db");
  CHECK(run(12, uid, "shell").empty());
  CHECK(run(13, "8f1c3c2e0f6b4b3c9a572f1f0e6f9a11", "etcd-node-1").empty());
  CHECK(kPlaceTags[2] == "pod");
  CHECK(kPlaceTags[kWorkload] == "workload");
}

}  // namespace atalaya::testing
