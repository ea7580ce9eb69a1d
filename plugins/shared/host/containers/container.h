// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::containers {

// The names of one container. Names that the runtime does not provide are empty.
struct Container {
  std::string name;              // "web"; in Kubernetes "namespace/pod/container"; the short id until the name is known
  std::string pod, name_space;   // Kubernetes
  std::string project, service;  // Compose
  bool known = false;            // false: the name is the short id, and should be searched again
};

}  // namespace atalaya::containers
