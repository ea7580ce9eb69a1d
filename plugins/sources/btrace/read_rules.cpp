// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/btrace/read_rules.h"

namespace atalaya::btrace {
namespace {

RuleText read_rule(Host host, const std::string &path) {
  RuleText rule{.match = host.text(path + ".match"),
                .emit = host.text(path + ".emit"),
                .level = {},
                .captures = host.texts(path + ".captures"),
                .tags = {},
                .time = host.text(path + ".time"),
                .utc = host.boolean(path + ".utc")};
  if (const auto level = host.find(path + ".level")) rule.level = level->text();
  for (uint64_t i = 0; const auto tag = host.child(path + ".tags", i); ++i) rule.tags.emplace_back(tag->key(), tag->text());
  return rule;
}

}  // namespace

Rules read_rules(Host host) {
  std::vector<RuleText> texts;
  for (uint64_t i = 0; host.child("rules", i); ++i) texts.push_back(read_rule(host, "rules[" + std::to_string(i) + "]"));
  auto rules = Rules::make(texts);
  if (!rules) throw Failure(Code::bad_config, "parameter \"rules\": " + rules.error());
  return std::move(*rules);
}

}  // namespace atalaya::btrace
