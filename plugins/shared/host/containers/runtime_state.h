// SPDX-License-Identifier: Apache-2.0
// The state of containers in the files of docker, podman, CRI-O and containerd, of the system or in a user's home.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "plugins/shared/host/cgroup/place.h"
#include "plugins/shared/host/containers/container.h"
#include "plugins/shared/host/containers/state_file.h"
#include "plugins/shared/host/containers/state_json.h"

namespace atalaya::containers {

class RuntimeState {
 public:
  // The reason why an existing file could not be used. The key identifies the cause; the text may vary.
  struct Problem {
    std::string key, text;
  };

  explicit RuntimeState(const std::string &root);

  // Searches a container with an id of 64 digits; false, with `out` untouched, when no file has its name.
  bool find(const cgroup::Place &place, Container &out);
  // The first problem of the last search, if any.
  const Problem &problem() const { return problem_; }

 private:
  // A file of containers/storage has all containers: it is read when it has changed.
  struct List {
    FileMark mark;
    StorageList containers;
    bool malformed = false;
  };

  // The files to search: a user's containers are only in files of that user.
  struct Owner {
    uint32_t user = 0;
    std::string home;  // empty: unknown, or root, who owns the system's containers
  };

  Owner owner_of(const cgroup::Place &place) const;
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
  Problem problem_;
};

}  // namespace atalaya::containers
