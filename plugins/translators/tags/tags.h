// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/match/patterns.h"

namespace atalaya::tags {

using namespace atalaya::literals;

// Copies, renames, drops and adds tags, in this order. A sample never has a key twice.
class Tags final : public Translator {
 public:
  static constexpr Param kValue[] = {{.type = ATALAYA_STRING, .summary = "The tag's value."_str}};
  static constexpr Param kTag[] = {{.type = ATALAYA_STRING, .summary = "A tag."_str}};
  static constexpr Param kPattern[] = {{.type = ATALAYA_STRING, .summary = "A pattern."_str}};
  static constexpr Param kParams[] = {
      {.name = "copy"_str,
       .type = ATALAYA_MAP,
       .summary = "New tags and the tag that each takes its value from, { new = \"old\" }."_str,
       .items = kTag,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "rename"_str,
       .type = ATALAYA_MAP,
       .summary = "Tags and their new names, { old = \"new\" }; a tag that had the new name is replaced."_str,
       .items = kTag,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "drop"_str,
       .type = ATALAYA_LIST,
       .summary = "Patterns for the names of tags to leave out."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "add"_str,
       .type = ATALAYA_MAP,
       .summary = "Tags and the values that they get in every sample, { team = \"data\" }; a value that was there is replaced."_str,
       .items = kValue,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "metric"_str,
       .type = ATALAYA_LIST,
       .summary = "Patterns: only samples with a field that matches are changed."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "kind"_str,
       .type = ATALAYA_ENUM,
       .allowed = "metrics|stack|span"_str,
       .summary = "Only samples of this kind are changed."_str},
  };
  static constexpr Description description = {
      .name = "tags"_str, .summary = "copies, renames, drops and adds tags"_str, .params = kParams};

  explicit Tags(Host host);
  Code process(const Window &window, Batch &batch) override;

 private:
  struct Pair {
    uint32_t from, to;
  };
  struct Fixed {
    uint32_t key;
    std::string value;
    atalaya_str in_batch;  // the value in the arena of the batch at hand, shared by its samples
  };

  void read_copies(Host host);
  void read_renames(Host host);
  bool takes(const Sample &sample);
  void edit(Batch &batch, Sample &sample);

  std::vector<Pair> copies_, renames_;
  NamePatterns drop_;
  std::vector<Fixed> fixed_;
  NamePatterns metric_;
  std::optional<uint32_t> kind_;
};

}  // namespace atalaya::tags
