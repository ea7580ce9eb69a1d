// SPDX-License-Identifier: Apache-2.0
// Reads stacks from a store, summed over windows, hosts and processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/flamegraph/tree.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::flamegraph {

enum class By : uint8_t {
  process,  // a frame per process, by name and pid
  name,     // a frame per process name
  host,     // a frame per host, with its processes above
  reason,   // a frame per reason of waits, with processes by name above
  owner,    // a frame per owner of waits, with processes by name above
};

// Returns the name of the owner of a wait from the tags of the stack.
using OwnerName = std::function<std::string(const store::Tags &)>;

struct Wanted {
  std::vector<store::TagFilter> tags;
  std::string profile = "cpu";
  By by = By::process;
  std::function<bool(const store::Stack &)> only;  // stacks to use; empty: all
  OwnerName owner_name;                            // empty: the value of the tag `owner`
  // Returns the number of frames above the code: host, process, reason or owner.
  uint32_t group_depth() const { return by == By::process || by == By::name ? 1 : 2; }
  // CPU samples have equal weights. Waits and thread dumps are weighted by time.
  bool counts_time() const { return profile != "cpu"; }
};

// Called with each stack that has a value.
using Visitor = std::function<void(const store::Stack &)>;

// Adds the stacks whose windows end in the range. Throws query::TooMuch, store::Error.
void add_stored(Tree &tree, Side side, store::Store &store, const Wanted &wanted, const store::Range &range, query::Budget &budget,
                const Visitor &visitor = {});

// Adds the stacks with this attempt id or, if there are none, with this task id (tags of the source perf).
void add_task(Tree &tree, const std::string &id, store::Store &store, const Wanted &wanted, const store::Range &range,
              query::Budget &budget);

// Explains an empty result: names the pipeline that collects stacks, or the processes that have stacks.
std::string reason_for_no_stacks(store::Store &store, const Wanted &wanted, const store::Range &range, query::Budget &budget);

// Parses the parameter `by`: "process", "name", "host", "reason" or "owner".
By parse_by(std::string_view name);
// Returns the group frames that precede those of the stack: "java-977", "java", "host;java-977", "disk;java", or "disk vda;java".
std::string process_frames(const store::Tags &tags, By by, const OwnerName &owner_name = {});

}  // namespace atalaya::flamegraph
