// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/files/speedscope.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/text/json_writer.h"

namespace atalaya::flamegraph {
namespace {

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Tree &tree, const ProfileInfo &info) : tree_(tree), info_(info) {}

  std::string write() {
    for (uint32_t node = 1; node < tree_.size(); ++node)
      if (tree_.node(node).self[0] > 0) leaves_[group_of(node)].push_back(node);
    core::JsonWriter profiles;
    profiles.list();
    for (const auto &[group, leaves] : leaves_) write_profile(profiles, group, leaves);
    core::JsonWriter json;
    json.object().key("$schema").text("https://www.speedscope.app/file-format-schema.json").key("exporter").text("atalaya");
    json.key("shared").object().key("frames").list();
    for (const std::string_view frame : frames_) json.object().key("name").text(frame).end_object();
    return json.end_list().end_object().key("profiles").raw(profiles.end_list().take()).end_object().take() + "\n";
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

  void write_profile(core::JsonWriter &json, uint32_t group, const std::vector<uint32_t> &leaves) {
    core::JsonWriter samples, weights;
    double sum = 0;
    for (const uint32_t leaf : leaves) {
      write_stack(samples, leaf);
      weights.number(tree_.node(leaf).self[0]);
      sum += tree_.node(leaf).self[0];
    }
    json.object().key("type").text("sampled").key("name").text(name_of(group)).key("unit");
    json.text(info_.unit == Unit::nanoseconds ? "nanoseconds" : "none").key("startValue").integer(0).key("endValue").number(sum);
    json.key("samples").list().raw(samples.take()).end_list().key("weights").list().raw(weights.take()).end_list().end_object();
  }

  void write_stack(core::JsonWriter &json, uint32_t leaf) {
    std::vector<size_t> path;
    for (uint32_t node = leaf; tree_.node(node).depth > info_.group_depth; node = tree_.node(node).parent)
      path.push_back(frame(tree_.name(node)));
    json.list();
    std::for_each(path.rbegin(), path.rend(), [&](size_t frame) { json.count(frame); });
    json.end_list();
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
