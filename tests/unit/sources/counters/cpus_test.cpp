// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/cpus.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::cpus {

TEST_CASE("lists of CPUs") {
  CHECK(procfs::parse_cpus("0-2,5\n") == std::vector<int>{0, 1, 2, 5});
  CHECK(procfs::parse_cpus("0") == std::vector<int>{0});
  CHECK(procfs::parse_cpus("").empty());
  CHECK(procfs::parse_cpus("x").empty());
  CHECK(procfs::parse_cpus("0-99999999").empty());
}

TEST_CASE("CPUs that came and CPUs that went") {
  const procfs::CpuChange change = procfs::change_of({0, 1, 4}, {0, 2, 4, 5});
  CHECK(change.removed == std::vector<int>{1});
  CHECK(change.added == std::vector<int>{2, 5});
  CHECK(procfs::change_of({0, 1}, {0, 1}).added.empty());
  CHECK(procfs::change_of({0, 1}, {}).removed.empty());
  CHECK(procfs::online_cpus().size() == static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST_CASE("a change of CPUs is reported once more: their files come a little later") {
  proc::test::TempRoot root;
  const std::string online = "sys/devices/system/cpu/online";
  root.write(online, "0-1\n");
  procfs::CpuWatch watch(root.path());
  watch.start();
  CHECK_FALSE(watch.changed());
  root.write(online, "0-2\n");
  CHECK(watch.changed());
  CHECK(watch.changed());
  CHECK_FALSE(watch.changed());
  root.write(online, "0\n");
  CHECK(watch.changed());
  root.write(online, "\n");  // that cannot be
  CHECK(watch.changed());
  CHECK_FALSE(watch.changed());
}

}  // namespace atalaya::cpus
