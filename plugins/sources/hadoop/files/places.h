// SPDX-License-Identifier: Apache-2.0
// Resolves the parameter `path` (a file, folder, glob, URL or "auto") and lists the history
// files there.
#pragma once

#include <atalaya/plugin.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/sources/hadoop/files/finder.h"
#include "plugins/sources/hadoop/files/storage.h"
#include "plugins/sources/hadoop/files/webhdfs.h"

namespace atalaya::hadoop {

class Places {
 public:
  // Throws Failure (bad_config).
  explicit Places(const Host &host);

  struct Listing {
    std::vector<Found> found;
    bool complete = true;  // false: some folders could not be read
  };
  // Lists all history files; logs unreadable folders.
  Listing list();
  // Returns the storage of a listed path.
  Storage &storage_of(const std::string &path);
  const std::string &path() const { return path_; }
  // Returns true if this path is the value of the parameter `path`.
  bool is_named(const std::string &path) const { return path == path_; }

 private:
  std::vector<std::string> paths();
  void discover_paths();
  void add_found(const std::string &path, Listing &listing);

  const Host host_;
  const std::string path_, root_;
  const WebHdfsOptions webhdfs_;
  std::vector<std::string> discovered_;
  bool link_logged_ = false;
  std::map<std::string, std::unique_ptr<Storage>> storages_;  // by server; "": local files
};

// Returns the path before the first component with a wildcard: "/logs" for "/logs/*/app".
std::string fixed_part(const std::string &pattern);
// Returns the paths that match the glob.
std::vector<std::string> paths_matching(const std::string &pattern);

}  // namespace atalaya::hadoop
