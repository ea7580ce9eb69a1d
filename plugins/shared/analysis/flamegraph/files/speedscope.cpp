// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/files/speedscope.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/text/json.h"

namespace atalaya::flamegraph {
namespace {

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Tree &tree, const ProfileInfo &info) : tree_(tree), info_(info) {}

  std::string write() {
    for (uint32_t node = 1; node < tree_.size(); ++node)
      if (tree_.node(node).self[0] > 0) leaves_[group_of(node)].push_back(node);
    std::string profiles;
    for (const auto &[group, leaves] : leaves_) {
      if (!profiles.empty()) profiles += ',';
      append_profile(profiles, group, leaves);
    }
    std::string out =
        R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"atalaya","shared":{"frames":[)";
    for (size_t i = 0; i < frames_.size(); ++i) {
      core::append_json_string(out += i == 0 ? "{\"name\":" : ",{\"name\":", frames_[i]);
      out += '}';
    }
    return out + "]},\"profiles\":[" + profiles + "]}\n";
  }

 private:
  uint32_t group_of(uint32_t node) const {
    while (tree_.node(node).depth > info_.group_depth) node = tree_.node(node).parent;
    return node;
  }

  size_t frame(std::string_view name) {
    const auto [at, is_new] = numbers_.try_emplace(name, frames_.size());
    if (is_new) frames_.push_back(name);
    return at->second;
  }

  void append_profile(std::string &out, uint32_t group, const std::vector<uint32_t> &leaves) {
    std::string samples;
    std::string weights;
    double sum = 0;
    for (const uint32_t leaf : leaves) {
      const std::string_view comma = samples.empty() ? "" : ",";
      append_stack(samples += comma, leaf);
      core::append_number(weights += comma, tree_.node(leaf).self[0]);
      sum += tree_.node(leaf).self[0];
    }
    core::append_json_string(out += R"({"type":"sampled","name":)", name_of(group));
    out += info_.unit == Unit::nanoseconds ? R"(,"unit":"nanoseconds")" : R"(,"unit":"none")";
    core::append_number(out += R"(,"startValue":0,"endValue":)", sum);
    out += ",\"samples\":[" + samples + "],\"weights\":[" + weights + "]}";
  }

  void append_stack(std::string &out, uint32_t leaf) {
    std::vector<size_t> path;
    for (uint32_t node = leaf; tree_.node(node).depth > info_.group_depth; node = tree_.node(node).parent)
      path.push_back(frame(tree_.name(node)));
    std::reverse(path.begin(), path.end());
    out += '[';
    for (size_t i = 0; i < path.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(path[i]);
    out += ']';
  }

  std::string name_of(uint32_t group) const {
    std::string name(tree_.name(group));
    const uint32_t above = tree_.node(group).parent;
    return above == 0 ? name : std::string(tree_.name(above)) + ": " + name;
  }

  const Tree &tree_;
  const ProfileInfo &info_;
  std::map<uint32_t, std::vector<uint32_t>> leaves_;  // by process
  std::unordered_map<std::string_view, size_t> numbers_;
  std::vector<std::string_view> frames_;
};

}  // namespace

std::string speedscope_of(const Tree &tree, const ProfileInfo &info) {
  return SpeedscopeWriter(tree, info).write();
}

}  // namespace atalaya::flamegraph
