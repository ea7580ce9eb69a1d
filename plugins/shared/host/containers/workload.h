// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace atalaya::containers {

// The name of the Kubernetes workload that created a pod, derived from the pod's name: the Deployment of "web-5d4f8c7b9d-x2k4q",
// the CronJob of "report-28391040-7zq2w", the DaemonSet, ReplicaSet or Job of "node-agent-8xw5l", the StatefulSet of "db-0". ""
// for other names, such as that of a pod without a workload. Untrusted input.
std::string_view workload_of(std::string_view pod);

}  // namespace atalaya::containers
