// SPDX-License-Identifier: Apache-2.0
// Names of containers from what their runtimes keep on disk: no process is started, no socket is asked. One thread, never the
// engine's: file systems may hang.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "plugins/containers/place.h"

namespace atalaya::containers {

// What a runtime says of one container. What it does not say is empty.
struct Container {
  std::string name;              // "web", "k8s-namespace/pod/container"; until it is known the short id
  std::string pod, name_space;   // Kubernetes
  std::string project, service;  // Compose
  bool known = false;            // false: the name is the id still
};

class ContainerNames {
 public:
  struct Options {
    std::string root = "/";  // the folder that holds var, run and etc
    size_t capacity = 4096;  // containers kept
  };
  // Told once of each reason why names are missing that someone can do something about.
  using Tell = std::function<void(std::string_view)>;

  explicit ContainerNames(Options options, Tell tell = {});
  ~ContainerNames();

  // The container that the place is in; cheap when it is known, or unknown and its next turn has not come. Ask again, at any time,
  // until it is known, and now and then afterwards, as containers are renamed. `now_ns`: any clock that does not go back.
  // Valid until the next call.
  const Container &find(const Place &place, int64_t now_ns);
};

}  // namespace atalaya::containers
