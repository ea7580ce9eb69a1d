// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::containers {

// What is known of one container. What its runtime does not say is empty.
struct Container {
  std::string name;              // "web"; in Kubernetes "namespace/pod/container"; the short id until it is known
  std::string pod, name_space;   // Kubernetes
  std::string project, service;  // Compose
  bool known = false;            // false: ask again, the name is the id still
};

}  // namespace atalaya::containers
