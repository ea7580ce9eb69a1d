// SPDX-License-Identifier: Apache-2.0
// Parses the state files of container runtimes. Pure; the text is untrusted input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/shared/host/containers/container.h"

namespace atalaya::containers {

// found: the file has a name. nothing: JSON without a name. malformed: not JSON, or not the format of the runtime.
enum class Reading : uint8_t { found, nothing, malformed };

// Longer names are rejected: no runtime creates them.
inline constexpr size_t kMaxName = 512;

// docker's containers/ID/config.v2.json.
Reading read_docker_config(std::string_view json, std::string_view id, Container &out);
// The config.json of the OCI runtime specification, by the annotations of containerd's and CRI-O's CRI and of nerdctl.
Reading read_oci_config(std::string_view json, Container &out);
// containers.json of containers/storage, which podman and CRI-O share. Returns the containers by id; skips entries without a name.
using StorageList = std::unordered_map<std::string, Container>;
Reading read_storage_list(std::string_view json, StorageList &out);
// The data folder set in docker's daemon.json, if any.
std::optional<std::string> read_docker_data_root(std::string_view json);

// The home of a user in a passwd file; empty: none.
std::string_view home_in_passwd(std::string_view text, uint32_t user);

}  // namespace atalaya::containers
