// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/names_params.h"

#include <algorithm>
#include <map>
#include <string>

namespace atalaya::names {
namespace {

std::map<std::string, std::string> read_map(Host host, const std::string &path) {
  std::map<std::string, std::string> map;
  for (uint64_t i = 0; const auto entry = host.child(path, i); ++i) map.emplace(entry->key(), entry->text());
  return map;
}

RuleText read_rule(Host host, const std::string &path) {
  const auto name = host.find(path + ".name");
  return {.main = host.texts(path + ".main"),
          .arguments = host.texts(path + ".arguments"),
          .option = read_map(host, path + ".option"),
          .argument = read_map(host, path + ".argument"),
          .name = name ? std::string(name->text()) : std::string(),
          .tags = read_map(host, path + ".tags"),
          .inherit = host.texts(path + ".inherit"),
          .interpreter = host.texts(path + ".interpreter"),
          .options = {.code = host.texts(path + ".code"),
                      .script = host.texts(path + ".script"),
                      .value = host.texts(path + ".value"),
                      .attached = host.texts(path + ".attached")}};
}

bool wants_jobs(Host host) {
  const auto tags = host.texts("tags");
  return std::any_of(tags.begin(), tags.end(), [](const std::string &tag) { return tag == "job" || tag.starts_with("job."); });
}

}  // namespace

std::vector<RuleText> read_rules(Host host) {
  std::vector<RuleText> rules;
  for (uint64_t i = 0; host.child("rules", i); ++i) rules.push_back(read_rule(host, "rules[" + std::to_string(i) + "]"));
  return rules;
}

bool reads_environments(Host host) {
  if (!host.boolean("job_environment")) return false;
  if (!wants_jobs(host)) throw Failure(Code::bad_config, "parameter \"job_environment\" has no effect: add \"job\" to tags");
  return true;
}

}  // namespace atalaya::names
