// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/group_table.h"
#include "plugins/shared/analysis/flamegraph/peers.h"
#include "plugins/shared/analysis/flamegraph/stored.h"

namespace atalaya::flamegraph {
namespace {

graph::Flow flow(const char *host, const char *pid, const char *process, const char *local, const char *remote, bool opened) {
  graph::Flow made;
  made.host = host;
  made.pid = pid;
  made.process = process;
  made.local = local;
  made.remote = remote;
  made.port = "5432";
  made.protocol = "tcp";
  made.opened = opened;
  made.moved = {100, 100};
  return made;
}

TEST_CASE("an address has the process at the other end, if flows have it") {
  const Peers peers(
      {flow("n1", "7", "app", "10.0.0.1", "10.0.0.2", true), flow("n2", "8", "postgres", "10.0.0.2", "10.0.0.1", false)}, {});
  const auto owner = [&](const char *host, const char *pid, const char *text) {
    return peers.owner_of({{"host", host}, {"pid", pid}, {"owner", text}});
  };
  CHECK(owner("n1", "7", "10.0.0.2:5432") == "postgres-8 on n2 (10.0.0.2:5432)");
  CHECK(owner("n2", "8", "10.0.0.1 as client of port 5432") == "app-7 on n1 (10.0.0.1 as client of port 5432)");
  CHECK(owner("n1", "9", "10.0.0.2:5432") == "10.0.0.2:5432");  // another process
  CHECK(owner("n1", "7", "10.0.0.2:5433") == "10.0.0.2:5433");
  CHECK(owner("n1", "7", "cafe:12 of app-3") == "cafe:12 of app-3");
  CHECK(owner("n1", "7", "a timer") == "a timer");
  CHECK(peers.owner_of({{"host", "n1"}}) == "(no owner)");
}

TEST_CASE("the table has a line per owner and process, the largest first, and all add up") {
  Tree tree;
  tree.add(tree.add_stack(process_frames({{"owner", "a timer"}, {"process", "app"}}, By::owner)), Side::shown, 1e9);
  tree.add(tree.add_stack(process_frames({{"owner", "holder of app-1"}, {"process", "app"}}, By::owner)), Side::shown, 3e9);
  tree.finish();
  CHECK(table_of(tree, 2, Unit::nanoseconds) ==
        "       3.000 s   75.0 %  holder of app-1  app\n"
        "       1.000 s   25.0 %  a timer  app\n");
}

TEST_CASE("names in the table cannot control the terminal") {
  Tree tree;
  tree.add(tree.add_stack(process_frames({{"owner", "\x1b[2Jtimer"}, {"process", "app\n"}}, By::owner)), Side::shown, 1e9);
  tree.finish();
  CHECK(table_of(tree, 2, Unit::nanoseconds) == "       1.000 s  100.0 %  \\x1b[2Jtimer  app\\x0a\n");
}

}  // namespace
}  // namespace atalaya::flamegraph
