// SPDX-License-Identifier: Apache-2.0
// verify_plugins FOLDER [--without FILE]: the lifecycle kit over every plugin there; fails when one fails, is refused, or there is
// none.
#include <cstdio>
#include <string_view>

#include "core/plugin/verify/verify.h"

using namespace atalaya::core;

int main(int argc, char **argv) {
  const std::string_view without = argc == 4 && std::string_view(argv[2]) == "--without" ? argv[3] : "";
  if (argc != 2 && without.empty()) return 2;
  Registry registry = Registry::scan({argv[1]});
  bool failed = registry.entries().empty();
  if (failed) std::fprintf(stderr, "no plugin found\n");
  for (const std::string &line : registry.refused()) {
    std::fprintf(stderr, "%s\n", line.c_str());
    failed = true;
  }
  for (const Registry::Entry &entry : registry.entries()) {
    if (!without.empty() && entry.path.ends_with(without)) continue;
    const auto plugin = Plugin::open(entry.path);
    std::printf("%s\n", plugin ? entry.path.c_str() : plugin.error().c_str());
    failed = failed || !plugin.ok();
    if (!plugin) continue;
    for (const Finding &finding : verify_plugin(plugin.value())) {
      std::printf("  %s\n", line_of(finding).c_str());
      failed = failed || !finding.problem.empty();
    }
  }
  return failed ? 1 : 0;
}
