// SPDX-License-Identifier: Apache-2.0
// Reads the state of containers from the files of docker, podman, CRI-O and containerd, of the system or in a user's home.
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

  // Finds a container with an id of 64 digits. If no file has its name, returns false and leaves `out` unchanged.
  bool find(const cgroup::Place &place, Container &out);
  // The first problem of the last search, if any.
  const Problem &problem() const { return problem_; }

 private:
  // A file of containers/storage, which has all containers; it is read only if it has changed.
  struct List {
    FileMark mark;
    StorageList containers;
    bool malformed = false;
  };

  // The user whose files are searched: containers of a user are only in files of that user.
  struct Owner {
    uint32_t user = 0;
    std::string home;  // empty if it is unknown, or for root, which owns the containers of the system
  };

  Owner owner_of(const cgroup::Place &place) const;
  bool find_in_docker(const Owner &owner, const std::string &id, Container &out);
  bool find_in_docker_folder(const StatePath &folder, const std::string &id, Container &out);
  bool find_in_crio(const std::string &id, Container &out);
  bool find_in_storage(const Owner &owner, const std::string &id, Container &out);
  bool find_in_storage_list(const StatePath &path, const std::string &id, Container &out);
  bool find_in_containerd(const std::string &id, Container &out);
  bool in_tasks(const std::string &folder, const std::string &id, Container &out);
  bool find_in_oci_config(const StatePath &path, Container &out);

  std::string docker_folder() const;
  Access read(const StatePath &path, std::string &text, FileMark *seen = nullptr);
  void report(const StatePath &path, std::string_view cause);

  std::string root_;  // root folder; "" for "/"
  std::map<std::string, List> lists_;
  Problem problem_;
};

}  // namespace atalaya::containers
