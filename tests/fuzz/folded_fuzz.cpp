// SPDX-License-Identifier: Apache-2.0
// Folded stacks from any source: nothing of the input is lost, and a picture is drawn of it.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plugins/shared/analysis/flamegraph/files/folded.h"
#include "plugins/shared/analysis/flamegraph/picture/picture.h"

using namespace atalaya::flamegraph;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Tree tree({.nodes = 1000, .depth = 50, .bytes = 10'000});
  double sum = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    const auto found = parse_folded(line);
    if (!found || found->value > 1e15) continue;
    tree.add(tree.add_stack(found->stack), sum > 100 ? Side::before : Side::shown, found->value);
    sum += found->value;
  }
  tree.finish();
  require(std::abs(tree.root().shown() + tree.root().before() - sum) <= 1e-9 * sum);
  folded_of(tree, true);
  json_of(tree, true);
  svg_of(tree, Classes(tree, 1), {.compared = tree.root().before() > 0, .frames = 100});
  return 0;
}
