// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/state_json.h"

#include <simdjson.h>

#include <algorithm>

#include "core/base/text/text.h"
#include "plugins/shared/host/cgroup/place.h"

namespace atalaya::containers {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// The text member of the object; empty if it is missing.
std::string_view text_of(const object &from, std::string_view key) {
  std::string_view text;
  return from.at_key(key).get(text) == simdjson::SUCCESS ? text : std::string_view();
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName;
}

// A container name that is unique on the host: pods may have containers of the same name, and namespaces pods of the same name. The
// sandbox container of a pod has no name, or "POD".
bool set_kubernetes(std::string_view name_space, std::string_view pod, std::string_view container, Container &out) {
  if (!is_name(pod) || name_space.size() > kMaxName || container.size() > kMaxName) return false;
  out.pod = pod;
  out.name_space = name_space;
  out.name = name_space.empty() ? "" : out.name_space + "/";
  out.name += pod;
  if (!container.empty() && container != "POD") out.name.append("/").append(container);
  return true;
}

bool set_text(std::string_view text, std::string &out) {
  if (!is_name(text)) return false;
  out = text;
  return true;
}

// "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT": names in Kubernetes have no "_".
bool set_from_kubelet_name(std::string_view name, Container &out) {
  if (!name.starts_with("k8s_")) return false;
  std::string_view parts[3];
  name.remove_prefix(4);
  for (std::string_view &part : parts) {
    const size_t end = name.find('_');
    if (end == 0 || end == std::string_view::npos) return false;
    part = name.substr(0, end);
    name.remove_prefix(end + 1);
  }
  return set_kubernetes(parts[2], parts[1], parts[0], out);
}

Reading reading_of(bool found) {
  return found ? Reading::found : Reading::nothing;
}

}  // namespace

Reading read_docker_config(std::string_view json, std::string_view id, Container &out) {
  simdjson::dom::parser parser;
  object config, labels, inner;
  if (parser.parse(json.data(), json.size()).get(config) != simdjson::SUCCESS || text_of(config, "ID") != id)
    return Reading::malformed;
  const bool labelled = config["Config"].get(inner) == simdjson::SUCCESS && inner["Labels"].get(labels) == simdjson::SUCCESS;
  if (labelled && set_kubernetes(text_of(labels, "io.kubernetes.pod.namespace"), text_of(labels, "io.kubernetes.pod.name"),
                                 text_of(labels, "io.kubernetes.container.name"), out))
    return Reading::found;
  std::string_view name = text_of(config, "Name");
  if (name.starts_with('/')) name.remove_prefix(1);
  if (!set_text(name, out.name)) return Reading::nothing;
  if (labelled) {
    set_text(text_of(labels, "com.docker.compose.project"), out.project);
    set_text(text_of(labels, "com.docker.compose.service"), out.service);
  }
  return Reading::found;
}

Reading read_oci_config(std::string_view json, Container &out) {
  simdjson::dom::parser parser;
  object config, notes;
  if (parser.parse(json.data(), json.size()).get(config) != simdjson::SUCCESS) return Reading::malformed;
  if (config["annotations"].get(notes) != simdjson::SUCCESS) return Reading::nothing;
  const auto kubernetes = [&](const char *name_space, const char *pod, const char *container) {
    return set_kubernetes(text_of(notes, name_space), text_of(notes, pod), text_of(notes, container), out);
  };
  return reading_of(
      kubernetes("io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name") ||
      kubernetes("io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name") ||
      set_text(text_of(notes, "nerdctl/name"), out.name));
}

Reading read_storage_list(std::string_view json, StorageList &out) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(json.data(), json.size()).get(list) != simdjson::SUCCESS) return Reading::malformed;
  for (const element entry : list) {
    object fields;
    std::string_view name;
    if (entry.get(fields) != simdjson::SUCCESS || fields["names"].at(0).get(name) != simdjson::SUCCESS) continue;
    const std::string_view id = text_of(fields, "id");
    Container container{.known = true};
    if (cgroup::is_container_id(id) && (set_from_kubelet_name(name, container) || set_text(name, container.name)))
      out.insert_or_assign(std::string(id), std::move(container));
  }
  return reading_of(!out.empty());
}

std::optional<std::string> read_docker_data_root(std::string_view json) {
  simdjson::dom::parser parser;
  object config;
  if (parser.parse(json.data(), json.size()).get(config) != simdjson::SUCCESS) return std::nullopt;
  const std::string_view folder = text_of(config, "data-root");
  if (!folder.starts_with('/')) return std::nullopt;
  return std::string(folder);
}

std::string_view home_in_passwd(std::string_view text, uint32_t user) {
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    std::string_view fields[6];  // name, password, user, group, comment, home
    for (std::string_view &field : fields) field = core::cut_at(line, ':');
    if (core::number_from<uint32_t>(fields[2]) == user && fields[5].starts_with('/')) return fields[5];
  }
  return {};
}

}  // namespace atalaya::containers
