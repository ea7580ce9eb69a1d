// SPDX-License-Identifier: Apache-2.0
// The places that the parameter `path` stands for, and what lies there.
#pragma once

#include <atalaya/plugin.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/sources/hadoop/finder.h"
#include "plugins/sources/hadoop/storage.h"
#include "plugins/sources/hadoop/webhdfs.h"

namespace atalaya::hadoop {

class Places {
 public:
  // Throws Failure (bad_config).
  explicit Places(const Host &host);

  struct Seen {
    std::vector<Found> found;
    bool complete = true;  // nothing is missing because it could not be read
  };
  // What could not be read is logged.
  Seen look();
  // Where a path that was found is read.
  Storage &storage_of(const std::string &path);
  // The operator wrote this very path.
  bool is_named(const std::string &path) const { return path == path_; }

 private:
  std::vector<std::string> paths();
  void discover_paths();
  void add_found(const std::string &path, Seen &seen);

  const Host host_;
  const std::string path_, root_;
  const WebHdfsOptions webhdfs_;
  std::vector<std::string> discovered_;
  bool link_told_ = false;
  std::map<std::string, std::unique_ptr<Storage>> storages_;  // by server; "" = local
};

// What stands before the first part of a pattern that matches several names: "/logs" of "/logs/*/app".
std::string fixed_part(const std::string &pattern);
// The paths that match.
std::vector<std::string> globbed(const std::string &pattern);

}  // namespace atalaya::hadoop
