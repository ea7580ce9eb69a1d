// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/known_processes.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

namespace atalaya::testing {

using names::KnownProcess;
using names::KnownProcesses;

TEST_CASE("known processes are found in any order of asking") {
  KnownProcesses processes(1000);
  std::set<int32_t> there;
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 40; ++i) {
      const auto pid = static_cast<int32_t>(random() % 500 + 1);
      KnownProcess *found = processes.find(pid);
      if (there.count(pid) > 0) {
        CHECK(found != nullptr);
      } else if (found == nullptr) {
        REQUIRE(processes.add(pid) != nullptr);
        CHECK(processes.find(pid) != nullptr);  // at once, for the next sample of this process
      }
    }
    processes.settle();
    there.clear();
    for (const KnownProcess &process : processes.all()) {
      CHECK(there.insert(process.pid).second);
      if (there.size() > 1) CHECK(process.pid == *there.rbegin());
    }
    for (int32_t pid = 0; pid <= 501; ++pid) CHECK((processes.find(pid) != nullptr) == (there.count(pid) > 0));
    for (int32_t pid = 501; pid >= 0; --pid) CHECK((processes.find(pid) != nullptr) == (there.count(pid) > 0));
  }
}

TEST_CASE("known processes are bounded and forgotten") {
  KnownProcesses processes(3);
  for (int32_t pid = 1; pid <= 3; ++pid) processes.add(pid)->seen = static_cast<uint32_t>(pid);
  CHECK(processes.add(4) == nullptr);
  processes.settle();
  processes.forget(3);
  CHECK(processes.size() == 1);
  CHECK(processes.find(3) != nullptr);
  CHECK(processes.add(4) != nullptr);
}

}  // namespace atalaya::testing
