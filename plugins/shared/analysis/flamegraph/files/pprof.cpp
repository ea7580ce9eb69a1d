// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/files/pprof.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "plugins/shared/protocols/pprof/pprof.h"

namespace atalaya::flamegraph {

std::string pprof_of(const Tree &tree, const ProfileInfo &info) {
  const bool time = info.unit == Unit::nanoseconds;
  protocols::PprofWriter writer(time ? std::string_view(info.type) : "samples", time ? "nanoseconds" : "count");
  std::vector<std::string_view> frames;
  std::vector<protocols::PprofLabel> labels;
  for (uint32_t leaf = 1; leaf < tree.size(); ++leaf) {
    if (tree.node(leaf).self[0] <= 0) continue;
    frames.clear();
    labels.clear();
    uint32_t node = leaf;
    for (; node != 0 && tree.node(node).depth > info.group_depth; node = tree.node(node).parent) frames.push_back(tree.name(node));
    if (node != 0) labels.push_back({"process", tree.name(node)});
    if (const uint32_t above = tree.node(node).parent; above != 0) labels.push_back({"host", tree.name(above)});
    writer.add(frames, std::llround(tree.node(leaf).self[0]), labels);
  }
  if (info.from_ns < info.to_ns) writer.set_time(info.from_ns, info.to_ns - info.from_ns);
  return writer.finish();
}

}  // namespace atalaya::flamegraph
