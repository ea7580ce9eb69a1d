// SPDX-License-Identifier: Apache-2.0
// What container runtimes write on disk about their containers. Pure: text to values; the text may be anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/shared/containers/container.h"

namespace atalaya::containers {

// found: there is a name. nothing: it is JSON and has none. malformed: it is not JSON, or not of the form that the runtime writes.
enum class Reading : uint8_t { found, nothing, malformed };

// A name longer than this is not taken: no runtime makes one.
inline constexpr size_t kMaxName = 512;

// docker's containers/ID/config.v2.json.
Reading read_docker_config(std::string_view json, std::string_view id, Container &out);
// The config.json of the OCI runtime specification, by the annotations of containerd's and CRI-O's CRI and of nerdctl.
Reading read_oci_config(std::string_view json, Container &out);
// containers.json of containers/storage, which podman and CRI-O share: the containers by id. Entries without a name are left out.
using StorageList = std::unordered_map<std::string, Container>;
Reading read_storage_list(std::string_view json, StorageList &out);
// The folder that docker's daemon.json moves its data to; nothing when it does not say.
std::optional<std::string> read_docker_data_root(std::string_view json);

// The home of a user in a passwd file; empty: none.
std::string_view home_in_passwd(std::string_view text, uint32_t user);

}  // namespace atalaya::containers
