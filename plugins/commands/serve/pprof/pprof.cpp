// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/pprof/pprof.h"

#include "plugins/commands/serve/page/page_stacks.h"
#include "plugins/shared/analysis/flamegraph/files/pprof.h"
#include "plugins/shared/analysis/flamegraph/stored.h"

namespace atalaya::serve {
namespace {

constexpr int64_t kPprofSecond = 1'000'000'000;

query::Range pprof_range(const PageCall &call) {
  if (call.request.argument("seconds") == nullptr) return call.range();
  const int64_t seconds = page_count(call.request, "seconds", 30, 1, 31'536'000);
  return {call.now_ns - seconds * kPprofSecond, call.now_ns};
}

}  // namespace

Answer pprof_answer(PageCall &call) {
  const flamegraph::Wanted wanted = read_stacks_wanted(call.request);
  const query::Range range = pprof_range(call);
  flamegraph::Tree tree;
  flamegraph::add_stored(tree, flamegraph::Side::shown, call.store, wanted, range, call.budget);
  tree.finish();
  if (tree.root().shown() == 0)
    return error_answer(404, "no stacks" + flamegraph::reason_for_no_stacks(call.store, wanted, range, call.budget));
  flamegraph::ProfileInfo info;
  info.type = wanted.profile;
  info.unit = wanted.counts_time() ? flamegraph::Unit::nanoseconds : flamegraph::Unit::samples;
  info.group_depth = wanted.group_depth();
  info.from_ns = range.from_ns;
  info.to_ns = range.to_ns;
  return {200, flamegraph::pprof_of(tree, info), "application/octet-stream"};
}

}  // namespace atalaya::serve
