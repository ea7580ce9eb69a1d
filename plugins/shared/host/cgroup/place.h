// SPDX-License-Identifier: Apache-2.0
// Derives container, pod, unit, slice and scheduler job from the path of a cgroup. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::cgroup {

// `unknown`: an id as docker, containerd, CRI-O and podman use it, in a path that does not identify the runtime.
enum class Runtime : uint8_t { none, docker, podman, containerd, crio, lxc, nspawn, unknown };
std::string_view runtime_name(Runtime runtime);  // "docker"; none and unknown: ""

struct Place {
  Runtime runtime = Runtime::none;  // runtime of the innermost container
  std::string id;                   // id of that container: 64 hexadecimal digits, or its name (lxc, nspawn); empty: no container
  std::string pod;                  // UID of the Kubernetes pod, with dashes as in Kubernetes; empty: none
  std::string unit;                 // innermost service or scope, "ssh.service"; "\x2d" is "-"; empty: none
  std::string slice;                // innermost slice, "system.slice"; empty: none
  // Slurm: the job's number; its step, "0", "0+1", "batch", "extern" or "interactive"; the uid of its owner (only in paths of
  // cgroup version 1). YARN: the job is "application_1410901177871_0001". Empty: none.
  std::string job, job_step, job_user;
  std::optional<uint32_t> user;  // uid of the container's user slice; without a container, of the process's
};

// Selects the most specific path of /proc/PID/cgroup: the path with the most containers (a runtime that manages version 1
// leaves its own path in version 2), then a path with a job of Slurm or YARN (both put jobs of version 1 into the controllers
// that they use, and not into systemd's hierarchy). Of several such paths, selects that of version 2; on a host with version 1
// that of systemd, else the first one that is not the root. Empty: none.
std::string_view parse_cgroup(std::string_view text);
// Parses a path. Monitors of containers (conmon, lxc.monitor, nspawn's supervisor) are outside of their container.
Place place_of(std::string_view path);

// The application of the YARN container that a working directory belongs to,
// ".../appcache/application_1_2/container_1_2_01_000003"; empty: none.
std::string yarn_application_of(std::string_view folder);

// The unit, and the short id of the container, as in the path; without allocation.
std::string_view unit_of(std::string_view path);
std::string_view container_of(std::string_view path);

// Whether the text has 64 hexadecimal digits, as ids of docker, podman, containerd and CRI-O.
bool is_container_id(std::string_view text);
// The first 12 digits of such an id, as in the output of the runtimes' commands; other ids are returned unchanged.
std::string_view short_id(std::string_view id);

}  // namespace atalaya::cgroup
