// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "plugins/shared/analysis/jobs/reasons/hosts.h"

namespace atalaya::bottleneck {
namespace {

std::string span_host_of(const jobs::SameHosts &same, const std::string &stored) {
  const std::string *data = same.span_host_of(stored);
  return data == nullptr ? "" : *data;
}

TEST_CASE("the first label of a host, which an address has not") {
  CHECK(jobs::first_label("n1.example.org") == "n1");
  CHECK(jobs::first_label("n1") == "n1");
  CHECK(jobs::first_label("10.0.0.3") == "");
  CHECK(jobs::first_label("fe80::1") == "");
  CHECK(jobs::first_label("") == "");
}

TEST_CASE("a full name and a short one are one host where no other has the label") {
  const jobs::SameHosts same({"n1.example.org", "n2.example.org", "n3", "10.0.0.3"},
                             {"n1", "n2", "n3.example.org", "n4", "10.0.0.4"});
  CHECK(span_host_of(same, "n1") == "n1.example.org");
  CHECK(span_host_of(same, "n3.example.org") == "n3");
  CHECK(span_host_of(same, "n4") == "");
  CHECK(span_host_of(same, "10.0.0.4") == "");
  CHECK(same.notes("metrics") ==
        std::vector<std::string>{"metrics: hosts with the same first label are treated as one: \"n1\" for \"n1.example.org\", "
                                 "\"n2\" for \"n2.example.org\", \"n3.example.org\" for \"n3\""});
}

TEST_CASE("equal names are one host and take no other host's place") {
  const jobs::SameHosts same({"n1", "n1.example.org"}, {"n1"});
  CHECK(span_host_of(same, "n1") == "n1");
  CHECK(same.notes("metrics").empty());
  const jobs::SameHosts both({"n1"}, {"n1", "n1.example.org"});
  CHECK(span_host_of(both, "n1") == "n1");
  CHECK(span_host_of(both, "n1.example.org") == "");
}

TEST_CASE("an ambiguous name is not matched, and that is reported") {
  const jobs::SameHosts same({"n1.a", "n2"}, {"n1.b", "n1.c", "n2"});
  CHECK(span_host_of(same, "n1.b") == "");
  CHECK(span_host_of(same, "n2") == "n2");
  CHECK(same.notes("metrics") ==
        std::vector<std::string>{
            "metrics: several hosts have the same first label, the match is ambiguous: \"n1.a\" "
            "or \"n1.b\", \"n1.a\" or \"n1.c\"; use `hosts` of source hadoop to give nodes the names of agents"});
  const jobs::SameHosts two({"n1.a", "n1.b"}, {"n1"});
  CHECK(span_host_of(two, "n1") == "");
  CHECK(two.notes("metrics").size() == 1);
}

}  // namespace
}  // namespace atalaya::bottleneck
