// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/containers/runtime_state.h"

#include <dirent.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "core/base/files.h"

namespace atalaya::containers {
namespace {

constexpr size_t kMaxSystemList = size_t{4} << 20;  // maximum bytes; a container has approximately 1.5 KB
constexpr size_t kMaxLists = 32;
constexpr int kMaxNamespaces = 64;

// The default data folders of docker, if daemon.json has no setting.
constexpr std::string_view kDockerFolder = "/var/lib/docker", kDockerSnapFolder = "/var/snap/docker/common/var-lib-docker";
constexpr std::string_view kStorageFolder = "/var/lib/containers/storage", kStorageRunFolder = "/run/containers/storage";
// The state folders of containerd, k3s and RKE2, k0s, MicroK8s.
constexpr std::string_view kContainerdFolders[] = {"/run/containerd", "/run/k3s/containerd", "/run/k0s/containerd",
                                                   "/var/snap/microk8s/common/run/containerd"};
// Folders of containers/storage, by storage driver.
constexpr std::string_view kStorageDrivers[] = {"overlay", "vfs", "btrfs", "zfs"};

constexpr std::string_view kDenied = "permission denied; run as root or grant CAP_DAC_READ_SEARCH";

using Folder = std::unique_ptr<DIR, int (*)(DIR *)>;

}  // namespace

RuntimeState::RuntimeState(const std::string &root) : root_(root.ends_with('/') ? root.substr(0, root.size() - 1) : root) {}

bool RuntimeState::find(const cgroup::Place &place, Container &out) {
  problem_ = {};
  const Owner owner = owner_of(place);
  const bool any = place.runtime == cgroup::Runtime::unknown;
  if ((any || place.runtime == cgroup::Runtime::docker) && find_in_docker(owner, place.id, out)) return true;
  // CRI-O and containerd run as root; the state of a user's containerd is only in its mount namespace.
  const bool system = owner.user == 0;
  if (system && (any || place.runtime == cgroup::Runtime::crio) && find_in_crio(place.id, out)) return true;
  if (system && (any || place.runtime == cgroup::Runtime::containerd) && find_in_containerd(place.id, out)) return true;
  const bool stored = any || place.runtime == cgroup::Runtime::podman || place.runtime == cgroup::Runtime::crio;
  return stored && find_in_storage(owner, place.id, out);
}

// Reads the home folders from the passwd file, because the host's name services may query the network.
RuntimeState::Owner RuntimeState::owner_of(const cgroup::Place &place) const {
  Owner owner{.user = place.user.value_or(0)};
  if (owner.user == 0) return owner;
  const auto passwd = core::read_file(root_ + "/etc/passwd", size_t{16} << 20);
  if (passwd) owner.home = home_in_passwd(passwd.value(), owner.user);
  return owner;
}

bool RuntimeState::find_in_docker(const Owner &owner, const std::string &id, Container &out) {
  if (owner.user == 0)
    return find_in_docker_folder({.base = root_ + docker_folder(), .below = "containers"}, id, out) ||
           find_in_docker_folder({.base = root_ + std::string(kDockerSnapFolder), .below = "containers"}, id, out);
  if (owner.home.empty()) return false;
  return find_in_docker_folder({.base = root_ + owner.home, .below = ".local/share/docker/containers", .user = owner.user}, id,
                               out);
}

bool RuntimeState::find_in_docker_folder(const StatePath &folder, const std::string &id, Container &out) {
  StatePath path = folder;
  path.below += "/" + id + "/config.v2.json";
  std::string text;
  if (read(path, text) != Access::read) return false;
  const Reading reading = read_docker_config(text, id, out);
  if (reading == Reading::malformed) report(path, "unknown format, not written by docker");
  return reading == Reading::found;
}

std::string RuntimeState::docker_folder() const {
  const auto config = core::read_file(root_ + "/etc/docker/daemon.json", size_t{1} << 20);
  return (config ? read_docker_data_root(config.value()) : std::nullopt).value_or(std::string(kDockerFolder));
}

bool RuntimeState::find_in_crio(const std::string &id, Container &out) {
  return find_in_oci_config(
      {.base = root_ + std::string(kStorageRunFolder), .below = "overlay-containers/" + id + "/userdata/config.json"}, out);
}

// Containers that do not survive a reboot are in a separate list; with the option transient_store it is in the run folder.
bool RuntimeState::find_in_storage(const Owner &owner, const std::string &id, Container &out) {
  StatePath data{.base = root_ + std::string(kStorageFolder), .max_bytes = kMaxSystemList};
  StatePath run{.base = root_ + std::string(kStorageRunFolder), .max_bytes = kMaxSystemList};
  std::string data_folder, run_folder;
  if (owner.user != 0) {
    data = {.base = root_ + owner.home, .user = owner.user};
    data_folder = ".local/share/containers/storage/";
    run = {.base = root_ + "/run/user/" + std::to_string(owner.user), .user = owner.user};
    run_folder = "containers/";
  }
  for (const std::string_view driver : kStorageDrivers) {
    const std::string folder = std::string(driver) + "-containers/";
    for (const std::string_view file : {"containers.json", "volatile-containers.json"}) {
      data.below = data_folder + folder + std::string(file);
      if ((owner.user == 0 || !owner.home.empty()) && find_in_storage_list(data, id, out)) return true;
    }
    run.below = run_folder + folder + "volatile-containers.json";
    if (find_in_storage_list(run, id, out)) return true;
  }
  return false;
}

bool RuntimeState::find_in_storage_list(const StatePath &path, const std::string &id, Container &out) {
  const std::string key = path.base + "/" + path.below;
  auto list = lists_.find(key);
  FileMark mark = list == lists_.end() ? FileMark{} : list->second.mark;
  std::string text;
  const Access access = read(path, text, &mark);
  if (access != Access::read && access != Access::same) {
    if (list != lists_.end()) lists_.erase(list);
    return false;
  }
  if (access == Access::read) {
    if (list == lists_.end() && lists_.size() >= kMaxLists) lists_.clear();
    list = lists_.insert_or_assign(key, List{.mark = mark}).first;
    list->second.malformed = read_storage_list(text, list->second.containers) == Reading::malformed;
  }
  if (list->second.malformed) report(path, "unknown format, not written by podman or CRI-O");
  const auto found = list->second.containers.find(id);
  if (found == list->second.containers.end()) return false;
  out = found->second;
  return true;
}

bool RuntimeState::find_in_containerd(const std::string &id, Container &out) {
  for (const std::string_view folder : kContainerdFolders)
    if (in_tasks(root_ + std::string(folder) + "/io.containerd.runtime.v2.task", id, out)) return true;
  return false;
}

// A folder for each namespace: "k8s.io", "default", "moby".
bool RuntimeState::in_tasks(const std::string &folder, const std::string &id, Container &out) {
  const Folder tasks(::opendir(folder.c_str()), ::closedir);
  if (!tasks) {
    if (errno == EACCES || errno == EPERM) report({.base = folder}, kDenied);
    return false;
  }
  int seen = 0;
  for (const dirent *entry = ::readdir(tasks.get()); entry != nullptr && seen < kMaxNamespaces; entry = ::readdir(tasks.get())) {
    if (entry->d_name[0] == '.') continue;
    ++seen;
    if (find_in_oci_config({.base = folder, .below = std::string(entry->d_name) + "/" + id + "/config.json"}, out)) return true;
  }
  return false;
}

bool RuntimeState::find_in_oci_config(const StatePath &path, Container &out) {
  std::string text;
  if (read(path, text) != Access::read) return false;
  const Reading reading = read_oci_config(text, out);
  if (reading == Reading::malformed) report(path, "not an OCI configuration");
  return reading == Reading::found;
}

Access RuntimeState::read(const StatePath &path, std::string &text, FileMark *seen) {
  const Access access = read_state(path, text, seen);
  if (access == Access::denied) report(path, kDenied);
  if (access == Access::too_large) report(path, "larger than " + std::to_string(path.max_bytes) + " bytes");
  if (access == Access::not_trusted) report(path, "it is a link, not a regular file, or owned by another user");
  return access;
}

void RuntimeState::report(const StatePath &path, std::string_view cause) {
  if (!problem_.text.empty()) return;
  problem_.key = path.base + " " + std::string(cause);
  problem_.text = "names of containers are missing, their ids are used instead: " + path.base +
                  (path.below.empty() ? "" : "/" + path.below) + ": " + std::string(cause);
}

}  // namespace atalaya::containers
