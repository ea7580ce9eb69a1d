// SPDX-License-Identifier: Apache-2.0
// Stacks of a store, added up over windows, hosts and processes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/flamegraph/tree.h"
#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::flamegraph {

enum class By : uint8_t {
  process,  // a frame for each process, by name and number
  name,     // processes of one name together
  host,     // a frame for each host, processes above it
};

struct Wanted {
  std::vector<store::TagFilter> tags;
  std::string profile = "cpu";
  By by = By::process;
  // Frames above the code: of hosts and processes.
  uint32_t group_depth() const { return by == By::host ? 2 : 1; }
  // Samples of CPUs are alike. Waits are not, nor are thread dumps, of which one JVM has more than another.
  bool counts_time() const { return profile != "cpu"; }
};

// Those whose windows end in the range. Throws query::TooMuch, store::Error.
void add_stored(Tree &tree, Side side, store::Store &store, const Wanted &wanted, const store::Range &range, query::Budget &budget);

// Why it has none: the pipeline that collects them, or which processes have some.
std::string why_nothing(store::Store &store, const Wanted &wanted, const store::Range &range, query::Budget &budget);

// What stands before the stack's own frames: "java-977", "java", or "host;java-977".
std::string process_frames(const store::Tags &tags, By by);
// Where FROM:TO is parted, though times hold colons themselves. Throws query::Wrong.
store::Range range_of(std::string_view text, int64_t now_ns);

}  // namespace atalaya::flamegraph
