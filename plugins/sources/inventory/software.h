// SPDX-License-Identifier: Apache-2.0
// Facts about software: JDKs, and the configuration files of Hadoop and Spark.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/tree.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/sources/inventory/facts.h"

namespace atalaya::inventory {

// Receives a problem that the operator can fix.
using Warn = std::function<void(const std::string &)>;

// Adds jdk.PATH.version and jdk.PATH.vendor for each JDK in these folders. A symbolic link is not a further JDK.
void read_jdks(const procfs::Tree &tree, const std::vector<std::string> &folders, Facts &facts);

struct Configurations {
  std::vector<std::string> places;  // files, or folders in which files with well-known names are read
  io::MatcherList keys;             // keys to report
};
// Adds config.PATH:KEY for each file, once for a file with several paths. Keys that name a secret are never reported; possible
// secrets in values are replaced by "***".
void read_configurations(const procfs::Tree &tree, const Configurations &wanted, const Warn &warn, Facts &facts);

// Returns true if the key's value may be a password, a token or a cryptographic key.
bool names_secret(std::string_view key);

}  // namespace atalaya::inventory
