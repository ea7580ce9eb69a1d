// SPDX-License-Identifier: Apache-2.0
// What the path of a cgroup says of the processes in it. Pure: nothing is read, nothing is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::containers {

// `unknown`: an id like those of docker, containerd, CRI-O and podman, in a path that does not say which of them made it.
enum class Runtime : uint8_t { none, docker, podman, containerd, crio, lxc, nspawn, unknown };
std::string_view runtime_name(Runtime runtime);  // "docker"; none and unknown: ""

struct Place {
  Runtime runtime = Runtime::none;  // of the innermost container
  std::string id;                   // of that container: 64 hexadecimal digits, or its name (lxc, nspawn); empty: no container
  std::string pod;                  // UID of the Kubernetes pod, with dashes as Kubernetes writes it; empty: none
  std::string unit;                 // innermost service or scope, "ssh.service"; "\x2d" is "-"; empty: none
  std::string slice;                // innermost slice, "system.slice"; empty: none
  std::optional<uint32_t> user;     // in whose slice the container runs or, without one, the process
};

// The path of /proc/PID/cgroup that says most: the one with the most containers in it (a runtime that manages version 1 leaves in
// version 2 the path where it runs itself); of several that of version 2, on a host with version 1 that of systemd, else the first
// that is not the root. Empty: none.
std::string_view parse_cgroup(std::string_view text);
// Everything that a path says. The monitors of containers (conmon, lxc.monitor, nspawn's supervisor) are not in them.
Place place_of(std::string_view path);

// Two parts of it, without allocating: as the path spells them, and of the container the short id.
std::string_view unit_of(std::string_view path);
std::string_view container_of(std::string_view path);

// 64 hexadecimal digits: an id as docker, podman, containerd and CRI-O make them.
bool is_container_id(std::string_view text);
// The first 12 of them, as the runtimes' own commands print it; other ids whole.
std::string_view short_id(std::string_view id);

}  // namespace atalaya::containers
