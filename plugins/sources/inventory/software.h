// SPDX-License-Identifier: Apache-2.0
// What is installed, and how it is set up: JDKs, and the configuration files of Hadoop and Spark.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/match/matcher.h"
#include "plugins/shared/procfs/tree.h"
#include "plugins/sources/inventory/facts.h"

namespace atalaya::inventory {

// What an operator can do something about.
using Tell = std::function<void(const std::string &)>;

// jdk.PATH.version, jdk.PATH.vendor of each in these folders; links to them are other names of the same.
void read_jdks(const core::Tree &tree, const std::vector<std::string> &folders, Facts &facts);

struct Configurations {
  std::vector<std::string> places;  // files, or folders with files that are known by name
  core::MatcherList keys;           // of those that are told
};
// config.PATH:KEY of each file, a file once whatever its names. Keys that name a secret are never told, and in values what may be
// one is "***".
void read_configurations(const core::Tree &tree, const Configurations &wanted, const Tell &tell, Facts &facts);

// Whether its value may be a password, a token or a key.
bool names_secret(std::string_view key);

}  // namespace atalaya::inventory
