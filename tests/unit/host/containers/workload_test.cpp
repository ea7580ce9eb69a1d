// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/workload.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace atalaya::containers {
namespace {

TEST_CASE("a pod's workload by the form of its name") {
  struct Case {
    const char *pod, *workload;
  };
  const Case cases[] = {
      // Deployments.
      {"web-5d4f8c7b9d-x2k4q", "web"},
      {"coredns-565d847f94-2xkqz", "coredns"},
      {"web-front-5d4f8c7b9-x2k4q", "web-front"},
      // CronJobs; the second one before Kubernetes 1.21.
      {"report-28391040-7zq2w", "report"},
      {"report-1609459200-7zq2w", "report"},
      // DaemonSets and Jobs. The index of a Job stays.
      {"node-agent-8xw5l", "node-agent"},
      {"train-0-8xw5l", "train-0"},
      // StatefulSets.
      {"db-0", "db"},
      {"db-main-12", "db-main"},
      // Others.
      {"web", ""},
      {"my-shell", ""},
      {"debug-abcde", ""},
      {"debug-bcdf", ""},
      {"db-00", ""},
      {"kube-proxy-node", ""},
      {"", ""},
      {"-", ""},
      {"-bcdfg", ""},
      {"-0", ""},
      {"a-", ""},
      {"a--bcdfg", "a-"},
  };
  for (const Case &expected : cases) {
    CAPTURE(expected.pod);
    CHECK(workload_of(expected.pod) == expected.workload);
  }
}

TEST_CASE("pods of any workload that Kubernetes names have its name") {
  std::mt19937 random(7);
  const auto some = [&random](const std::string &characters, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += characters[random() % characters.size()];
    return text;
  };
  const std::string generated = "bcdfghjklmnpqrstvwxz2456789";
  for (int i = 0; i < 2000; ++i) {
    const std::string workload = some("aeiouxyz", 1) + some("aeioubcd0123-", random() % 20) + "a";
    CAPTURE(workload);
    const std::string suffix = some(generated, 5);
    CHECK(workload_of(workload + "-" + some(generated, 8 + random() % 3) + "-" + suffix) == workload);
    CHECK(workload_of(workload + "-" + std::to_string(27'000'000 + random() % 9'000'000) + "-" + suffix) == workload);
    CHECK(workload_of(workload + "-" + suffix) == workload);
    CHECK(workload_of(workload + "-" + std::to_string(random() % 100'000)) == workload);
  }
}

}  // namespace
}  // namespace atalaya::containers
