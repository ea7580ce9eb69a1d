// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/io/match/patterns.h"

namespace atalaya::tags {

// Copies, renames, drops and adds tags, in this order. A sample never has a key twice.
class Tags final : public Translator {
 public:
  static constexpr Param kValue[] = {param::string("", "The tag's value")};
  static constexpr Param kTag[] = {param::string("", "A tag").unit("tag")};
  static constexpr Param kNewTag[] = {param::string("", "A tag")};
  static constexpr Param kTagPattern[] = {param::string("", "A pattern").unit("tag")};
  static constexpr Param kMetric[] = {param::string("", "A pattern").unit("metric")};
  static constexpr Param kParams[] = {
      param::map("copy", kTag, "Tags to copy, { new = \"old\" }"),
      param::map("rename", kNewTag, "Tags to rename, { old = \"new\" }; an existing tag of the new name is replaced").unit("tag"),
      param::list("drop", kTagPattern, "Patterns for the names of tags to remove"),
      param::map("add", kValue, "Tags to set in every sample, { team = \"data\" }; an existing value is replaced"),
      param::list("metric", kMetric, "Only change samples with a field that matches one of these patterns"),
      param::choice("kind", "metrics|stack|span", "Only change samples of this kind"),
  };
  static constexpr Description description = {
      .name = "tags"_str, .summary = "Copy, rename, drop and add tags"_str, .params = kParams};

  explicit Tags(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Pair {
    uint32_t from, to;
  };
  struct Fixed {
    uint32_t key;
    std::string value;
    atalaya_str in_batch;  // the value in the arena of the current batch, shared by its samples
  };

  void read_copies(Host host);
  void read_renames(Host host);
  bool selects(const Sample &sample);
  void edit(Batch &batch, Sample &sample);

  std::vector<Pair> copies_, renames_;
  io::NamePatterns drop_;
  std::vector<Fixed> fixed_;
  io::NamePatterns metric_;
  std::optional<uint32_t> kind_;
};

}  // namespace atalaya::tags
