// SPDX-License-Identifier: Apache-2.0
// Responses and shared files of JVMs, the first byte selects which.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/sources/jvm/discovery.h"
#include "plugins/sources/jvm/jvm_counters.h"
#include "plugins/sources/jvm/numbers.h"
#include "plugins/sources/jvm/profile/profile.h"

using namespace atalaya::jvm;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_tree(const StackTree &tree) {
  int64_t self = 0, stacks = 0, lost = 0;
  for (const FunctionTime &function : tree.functions(100'000)) {
    require(function.stack.find('\n') == std::string::npos);
    self += function.self.ns;
  }
  for (const StackTime &stack : tree.stacks(3, true)) {
    require(stack.text.find('\n') == std::string::npos && !stack.text.empty());
    stacks += stack.on_cpu.ns;
    if (stack.text == "[stack lost]") lost = stack.on_cpu.ns;
  }
  require(stacks == tree.on_cpu().ns + tree.unseen().ns);
  require(self + lost == tree.on_cpu().ns);
}

// The same dump twice, and half of it: threads that continue, and threads that are gone.
void check_dumps(std::string_view text) {
  for (const bool all : {false, true}) {
    Profile profile(all);
    int64_t time = 0;
    for (const std::string_view dump : {text, text.substr(text.size() / 2), text.substr(0, text.size() / 2), text})
      profile.add(dump, time += 10'000'000);
    check_tree(profile.end_window({}).tree);
  }
  (void)is_complete(text);
}

void check_frame(std::string_view text) {
  const auto frame = parse_frame(text);
  if (!frame) return;
  require(!frame->type.empty() && !frame->method.empty());
  require(frame->line >= -2 && (frame->line < 0 || !is_native(text)));
}

// The first half and the second as two readings.
void check_shared(std::string_view text) {
  (void)parse_identity(text);
  const auto before = parse_counters(text.substr(0, text.size() / 2)), now = parse_counters(text);
  if (!now) return;
  Reading first = before ? Reading{*before, 0} : first_reading(*now, 0), last{*now, 1'000'000'000};
  JvmClock clock;
  if (before) {
    clock.update(*before, 1);
    first.paused = count_pauses(*before, 0, clock, nullptr, 0);
  }
  clock.update(*now, 1'000'000'001);
  last.paused = count_pauses(*now, last.time_ns, clock, &first.paused, last.time_ns);
  for (const Counter counter : kPauseCounters)
    if (last.paused[counter] && first.paused[counter]) require(*last.paused[counter] - *first.paused[counter] <= last.time_ns);
  for (const CounterMetric &metric : kCounterMetrics)
    for (const Reading *other : {static_cast<const Reading *>(nullptr), static_cast<const Reading *>(&first)})
      (void)number_of(metric, last, other);
  (void)collections(*now);
  require(now->exports.size() <= kMaxExports);
  for (const Export &one : now->exports) {
    require(one.name.starts_with("btrace.") && one.name.size() <= kMaxExportName);
    require(one.name.find_first_of(std::string_view("/$ \n\0", 5)) == std::string::npos);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0]) {
    case 'd':
      check_dumps(text);
      break;
    case 'f':
      check_frame(text);
      break;
    case 's':
      check_shared(text);
      break;
    case 'm':
      require(parse_jvm_maps(text, 77).shared_path.size() <= text.size());
      require(comm_in(text).size() <= text.size());
      break;
    default:
      break;
  }
  return 0;
}
