// SPDX-License-Identifier: Apache-2.0
// Facts about software: JDKs, and the configuration files of Hadoop and Spark.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/host/procfs/tree.h"
#include "plugins/sources/inventory/facts.h"

namespace atalaya::inventory {

// Reports a problem that an operator can fix.
using Warn = std::function<void(const std::string &)>;

// jdk.PATH.version, jdk.PATH.vendor of each in these folders; links count as names of the same JDK.
void read_jdks(const procfs::Tree &tree, const std::vector<std::string> &folders, Facts &facts);

struct Configurations {
  std::vector<std::string> places;  // files, or folders with files of well-known names
  io::MatcherList keys;           // to report
};
// config.PATH:KEY of each file, once per file whatever its names. Keys that name a secret are never reported, and possible secrets
// in values are "***".
void read_configurations(const procfs::Tree &tree, const Configurations &wanted, const Warn &warn, Facts &facts);

// Whether the value of the key may be a password, a token or a key.
bool names_secret(std::string_view key);

}  // namespace atalaya::inventory
