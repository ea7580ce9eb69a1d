// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/discovery.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::jvm {

TEST_CASE("a process with HotSpot's library is a JVM, whatever it is called") {
  const std::string library = "7f00-7f10 r-xp 00000000 fe:01 12 /opt/jdk/lib/server/libjvm.so\n";
  const std::string file = "7f10-7f20 rw-s 00000000 fe:01 13 /tmp/hsperfdata_me/77\n";
  CHECK(look_at_maps(library + file, 77).is_jvm);
  CHECK(look_at_maps(library + file, 77).shared_path == "/tmp/hsperfdata_me/77");
  CHECK(look_at_maps(library, 77).is_jvm);
  CHECK(look_at_maps(library, 77).shared_path.empty());
  CHECK_FALSE(look_at_maps(file, 77).is_jvm);
  CHECK_FALSE(look_at_maps("", 77).is_jvm);
}

TEST_CASE("names of processes may hold anything") {
  CHECK(comm_in("12 (java) S 1") == "java");
  CHECK(comm_in("12 (a) b (c) S 1") == "a) b (c");
  CHECK(comm_in("12 java").empty());
  CHECK(comm_in(")(").empty());
}

TEST_CASE("this process is no JVM") {
  Discovery discovery;
  for (const FoundJvm &jvm : discovery.look()) CHECK(jvm.target.pid != 0);
}

}  // namespace atalaya::jvm
