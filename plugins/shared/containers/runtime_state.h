// SPDX-License-Identifier: Apache-2.0
// Where docker, podman, CRI-O and containerd keep what they know of a container, for all users or in a user's home.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "plugins/shared/containers/container.h"
#include "plugins/shared/cgroup/place.h"
#include "plugins/shared/containers/state_file.h"
#include "plugins/shared/containers/state_json.h"

namespace atalaya::containers {

class RuntimeState {
 public:
  // Why a file that is there could not be used. The key tells the cause where the text varies.
  struct Trouble {
    std::string key, text;
  };

  explicit RuntimeState(const std::string &root);

  // Looks for a container with an id of 64 digits; false, with `out` untouched, when nothing names it.
  bool find(const Place &place, Container &out);
  // Of the last look-up: the first, if any.
  const Trouble &trouble() const { return trouble_; }

 private:
  // A file of containers/storage holds all containers: it is read when it has changed.
  struct List {
    FileMark mark;
    StorageList containers;
    bool malformed = false;
  };

  // Where to look: a user's containers are in files of that user, and nothing else says anything about them.
  struct Owner {
    uint32_t user = 0;
    std::string home;  // empty: unknown, or root, whose containers are the system's
  };

  Owner owner_of(const Place &place) const;
  bool in_docker(const Owner &owner, const std::string &id, Container &out);
  bool in_docker_folder(const StatePath &folder, const std::string &id, Container &out);
  bool in_crio(const std::string &id, Container &out);
  bool in_storage(const Owner &owner, const std::string &id, Container &out);
  bool in_storage_list(const StatePath &path, const std::string &id, Container &out);
  bool in_containerd(const std::string &id, Container &out);
  bool in_tasks(const std::string &folder, const std::string &id, Container &out);
  bool in_oci_config(const StatePath &path, Container &out);

  std::string docker_folder() const;
  Access read(const StatePath &path, std::string &text, FileMark *seen = nullptr);
  void note(const StatePath &path, std::string_view cause);

  std::string root_;  // "" for "/"
  std::map<std::string, List> lists_;
  Trouble trouble_;
};

}  // namespace atalaya::containers
