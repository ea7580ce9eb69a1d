// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/rules.h"

#include <array>
#include <set>
#include <string_view>

namespace atalaya::alerts {
namespace {

class RuleReader {
 public:
  RuleReader(Host host, uint64_t index)
      : host_(host), path_("rules[" + std::to_string(index) + "]"), name_("rules[" + std::to_string(index + 1) + "]") {}

  Rule read() {
    rule_.name = text("name");
    rule_.metric = text("metric");
    rule_.per = text("per");
    rule_.texts = {text("severity"), text("summary"), text("advice")};
    for (const auto &[name, member] : {std::pair{"lasts", &Rule::lasts_ns},
                                       {"keep", &Rule::keep_ns},
                                       {"over", &Rule::over_ns},
                                       {"ahead", &Rule::ahead_ns},
                                       {"absent", &Rule::absent_ns},
                                       {"gone", &Rule::ended_after_ns}})
      if (const auto value = find(name)) rule_.*member = value->integer();
    if (const auto value = find("above")) rule_.above = value->number();
    if (const auto value = find("below")) rule_.below = value->number();
    rule_.clear = rule_.limit();
    read_use();
    rule_.by = host_.texts(path_ + ".by");
    read_tags();
    check();
    return std::move(rule_);
  }

 private:
  std::optional<Value> find(const char *name) const { return host_.find(path_ + "." + name); }
  std::string text(const char *name) const {
    const auto value = find(name);
    return value ? std::string(value->text()) : "";
  }

  void read_use() {
    constexpr std::array<std::string_view, 8> kUses = {"value", "mean", "max", "sum", "rate", "forecast", "anomaly", "peers"};
    constexpr std::array<std::string_view, 4> kCombines = {"sum", "max", "min", "mean"};
    const std::string use = text("use"), combine = text("combine");
    for (size_t i = 0; i < kUses.size(); ++i)
      if (use == kUses[i]) rule_.use = static_cast<Use>(i);
    for (size_t i = 0; i < kCombines.size(); ++i)
      if (combine == kCombines[i]) rule_.combine = static_cast<Combine>(i);
  }

  void read_tags() {
    for (uint64_t i = 0; const auto entry = host_.child(path_ + ".tags", i); ++i) {
      const std::string pattern(entry->text());
      auto list = io::MatcherList::parse(std::vector{pattern});
      if (!list) fail("tags." + std::string(entry->key()) + ": " + list.error());
      rule_.tags.emplace_back(std::string(entry->key()), std::move(*list));
    }
  }

  [[noreturn]] void fail(const std::string &problem) const {
    throw Failure(Code::bad_config, name_ + " \"" + rule_.name + "\": " + problem);
  }

  void check() {
    if (rule_.name.empty()) fail("the name is empty");
    if (rule_.is_absence()) {
      if (rule_.above || rule_.below || find("clear")) fail("absent has no limit; remove above, below and clear");
      if (rule_.by.empty()) fail("absent needs by: the tags whose values are expected, such as by = { \"host\" }");
      return;
    }
    if (rule_.above && rule_.below) fail("above and below exclude each other; write two rules");
    if (!rule_.above && !rule_.below) fail("a limit is missing; set above, below, or absent");
    if (const auto clear = find("clear")) {
      rule_.clear = clear->number();
      if (rule_.above && rule_.clear > *rule_.above) fail("clear is higher than above; a firing alert would never end in between");
      if (rule_.below && rule_.clear < *rule_.below) fail("clear is lower than below; a firing alert would never end in between");
    }
    if (rule_.use == Use::anomaly && (!rule_.above || *rule_.above <= 0)) fail("an anomaly needs above, such as above = 6");
  }

  Host host_;
  const std::string path_, name_;  // path of the parameter for the host (indices from 0), and for error messages
  Rule rule_;
};

}  // namespace

std::vector<Rule> read_rules(Host host) {
  std::vector<Rule> rules;
  std::set<std::string> names;
  for (uint64_t i = 0; host.child("rules", i); ++i) {
    rules.push_back(RuleReader(host, i).read());
    if (!names.insert(rules.back().name).second)
      throw Failure(Code::bad_config,
                    "rules[" + std::to_string(i + 1) + "]: a rule \"" + rules.back().name + "\" exists already; rename one");
  }
  return rules;
}

}  // namespace atalaya::alerts
