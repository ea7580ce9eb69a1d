// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/cgroup/place.h"

#include <algorithm>

#include "core/base/text/text.h"

namespace atalaya::cgroup {
namespace {

constexpr size_t kIdDigits = 64, kShortIdDigits = 12;

// The parts of a path, not unescaped.
struct Spelled {
  Runtime runtime = Runtime::none;
  std::string_view id, pod, unit, slice;
  std::optional<uint32_t> user;
  int containers = 0;  // number of nested containers
  bool slurm = false;  // below a cgroup of slurmd
  std::string_view job, job_step, job_user, yarn_container;
};

struct Container {
  Runtime runtime = Runtime::none;
  std::string_view id;
};

std::string_view first_part(std::string_view text) {
  return text.substr(0, text.find('/'));
}

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// The text between prefix and suffix; empty if one of them is missing.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  if (text.size() <= begin.size() + end.size() || !text.starts_with(begin) || !text.ends_with(end)) return {};
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

// A prefix of a runtime: "docker-", or "kubepods-pod1.slice:cri-containerd:" if a runtime without the systemd driver received a
// systemd path.
Runtime runtime_of_prefix(std::string_view prefix) {
  std::string_view word = prefix.substr(0, prefix.size() - 1);
  if (prefix.back() == ':') word = word.substr(word.rfind(':') + 1);
  if (word.ends_with("conmon")) return Runtime::none;
  if (word == "docker") return Runtime::docker;
  if (word == "libpod" || word == "libpod-payload") return Runtime::podman;
  if (word == "cri-containerd" || word == "nerdctl") return Runtime::containerd;
  if (word == "crio") return Runtime::crio;
  return Runtime::unknown;
}

// Parses a container id: "docker-ID.scope", "libpod-ID" or "ID". Not "ID-1f.service": podman runs health checks in such a unit,
// outside of the container.
Container container_with_id(std::string_view part, std::string_view parent) {
  if (part.ends_with(".scope")) part.remove_suffix(6);
  if (part.size() < kIdDigits) return {};
  const std::string_view id = part.substr(part.size() - kIdDigits);
  const std::string_view prefix = part.substr(0, part.size() - kIdDigits);
  if (!is_container_id(id) || (!prefix.empty() && is_hex_digit(prefix.back()))) return {};
  if (prefix.empty()) return {parent == "docker" ? Runtime::docker : Runtime::unknown, id};
  const Runtime runtime = runtime_of_prefix(prefix);
  return {runtime, runtime == Runtime::none ? std::string_view() : id};
}

// "lxc.payload.NAME" (LXC 4), "lxc.payload/NAME" (LXC 3.1), "lxc/NAME" (before, Proxmox, and lxc.cgroup.pattern, which puts the
// monitor below it).
Container lxc_container(std::string_view part, std::string_view parent, std::string_view rest) {
  if (const std::string_view name = between(part, "lxc.payload.", ""); !name.empty()) return {Runtime::lxc, name};
  if ((parent != "lxc" && parent != "lxc.payload") || part.empty() || first_part(rest) == "monitor") return {};
  return {Runtime::lxc, part};
}

// "machine-NAME.scope" is a machine of systemd-machined: of nspawn or, according to its name, of libvirt.
Container machine(std::string_view part, std::string_view rest) {
  std::string_view name = between(part, "machine-", ".scope");
  if (name.starts_with("qemu\\x2d")) return {};
  if (name.starts_with("lxc\\x2d")) {
    name.remove_prefix(7);
    const size_t dash = name.find_first_not_of("0123456789");
    if (dash == 0 || dash == std::string_view::npos) return {};
    name = between(name.substr(dash), "\\x2d", "");
    return {name.empty() ? Runtime::none : Runtime::lxc, name};
  }
  if (name.empty()) name = between(part, "systemd-nspawn@", ".service");
  if (name.empty() || first_part(rest) == "supervisor") return {};
  return {Runtime::nspawn, name};
}

Container container_in(std::string_view part, std::string_view parent, std::string_view rest) {
  Container found = container_with_id(part, parent);
  if (found.id.empty()) found = lxc_container(part, parent, rest);
  if (found.id.empty()) found = machine(part, rest);
  return found;
}

bool is_pod_uid(std::string_view text) {
  if (text.size() == 32) return std::all_of(text.begin(), text.end(), is_hex_digit);  // UID of a static pod
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' && text[i] != '_' : !is_hex_digit(text[i])) return false;
  }
  return true;
}

// Parses the UID of a pod: "podUID", "kubepods-besteffort-podUID.slice", "kubepods-podUID.slice:cri-containerd:ID".
std::string_view pod_in(std::string_view part) {
  part = part.substr(0, part.find(".slice"));
  const size_t at = part.rfind("pod");
  if (at == std::string_view::npos || (at > 0 && part[at - 1] != '-')) return {};
  const std::string_view uid = part.substr(at + 3);
  return is_pod_uid(uid) ? uid : std::string_view();
}

std::optional<uint32_t> user_in(std::string_view part) {
  std::string_view digits = between(part, "user-", ".slice");
  if (digits.empty()) digits = between(part, "user@", ".service");
  return core::number_from<uint32_t>(digits);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether the text is the number of a step: "0", or "0+1" for a component of a heterogeneous job.
bool is_step(std::string_view text) {
  const size_t plus = text.find('+');
  return is_number(text.substr(0, plus)) && (plus == std::string_view::npos || is_number(text.substr(plus + 1)));
}

// Version 1: "/slurm/uid_1000/job_42/step_0/task_0", with "slurm_NODE" where several slurmd share a host. Version 2:
// "/system.slice/slurmstepd.scope/job_42/step_batch/user/task_0", with "NODE_slurmstepd.scope".
// Source: Slurm's documentation of cgroups, cgroup.html and cgroup_v2.html.
void read_slurm(std::string_view part, Spelled &out) {
  if (part == "slurm" || part.starts_with("slurm_") || part.ends_with("slurmstepd.scope")) out.slurm = true;
  if (!out.slurm) return;
  if (const std::string_view job = between(part, "job_", ""); is_number(job)) out.job = job;
  if (const std::string_view user = between(part, "uid_", ""); is_number(user)) out.job_user = user;
  const std::string_view step = between(part, "step_", "");
  if (is_step(step) || step == "batch" || step == "extern" || step == "interactive") out.job_step = step;
}

// "container_e17_1410901177871_0001_01_000005": epoch, start of the resource manager, application, attempt, container.
// Source: Hadoop, ContainerId.toString.
bool is_yarn_container(std::string_view part) {
  std::string_view rest = between(part, "container_", "");
  if (rest.starts_with('e')) {
    rest.remove_prefix(1);
    if (!is_number(core::cut_at(rest, '_'))) return false;
  }
  for (int i = 0; i < 4; ++i)
    if (!is_number(core::cut_at(rest, '_'))) return false;
  return rest.empty();
}

std::string yarn_application(std::string_view container) {
  std::string_view rest = between(container, "container_", "");
  if (rest.starts_with('e')) core::cut_at(rest, '_');
  std::string application = "application_";
  application.append(core::cut_at(rest, '_')).append(1, '_').append(core::cut_at(rest, '_'));
  return application;
}

Spelled read(std::string_view path) {
  Spelled out;
  std::optional<uint32_t> user;
  std::string_view parent;
  while (!path.empty()) {
    const std::string_view part = core::cut_at(path, '/');
    if (const Container container = container_in(part, parent, path); !container.id.empty()) {
      out.runtime = container.runtime;
      out.id = container.id;
      out.user = user;
      ++out.containers;
    }
    if (const std::string_view pod = pod_in(part); !pod.empty()) out.pod = pod;
    read_slurm(part, out);
    if (is_yarn_container(part)) out.yarn_container = part;
    if (const auto here = user_in(part)) user = here;
    // systemd puts "_" before a name that could be a file of the kernel.
    const std::string_view name = part.substr(part.starts_with('_') ? 1 : 0);
    if (!between(name, "", ".service").empty() || !between(name, "", ".scope").empty()) out.unit = name;
    if (!between(name, "", ".slice").empty()) out.slice = name;
    parent = part;
  }
  if (out.containers == 0) out.user = user;
  return out;
}

int digit_value(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

// Unescapes systemd's "\x2d". Control characters stay escaped: a name is one line.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\x" && i + 3 < text.size() && is_hex_digit(text[i + 2]) && is_hex_digit(text[i + 3])) {
      const int value = digit_value(text[i + 2]) * 16 + digit_value(text[i + 3]);
      if (value >= ' ' && value != 127) {
        out += static_cast<char>(value);
        i += 3;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

}  // namespace

std::string_view runtime_name(Runtime runtime) {
  switch (runtime) {
    case Runtime::docker:
      return "docker";
    case Runtime::podman:
      return "podman";
    case Runtime::containerd:
      return "containerd";
    case Runtime::crio:
      return "crio";
    case Runtime::lxc:
      return "lxc";
    case Runtime::nspawn:
      return "nspawn";
    case Runtime::none:
    case Runtime::unknown:
      break;
  }
  return "";
}

std::string_view parse_cgroup(std::string_view text) {
  std::string_view best;
  int best_rank = 0;
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    const std::string_view id = core::cut_at(line, ':');
    const std::string_view controllers = core::cut_at(line, ':');
    if (line.empty() || line[0] != '/') continue;
    const bool v2 = id == "0" && controllers.empty();
    // The kernel's suffix for the cgroup of a zombie that was removed.
    if (v2 && line.ends_with(" (deleted)")) line.remove_suffix(10);
    const int kind = v2 ? 3 : controllers == "name=systemd" ? 2 : 1;
    const Spelled spelled = read(line);
    const int rank =
        spelled.containers * 16 + (spelled.job.empty() && spelled.yarn_container.empty() ? 0 : 8) + (line == "/" ? 1 : 1 + kind);
    if (rank <= best_rank) continue;
    best = line;
    best_rank = rank;
  }
  return best;
}

Place place_of(std::string_view path) {
  const Spelled spelled = read(path);
  Place place{
      .runtime = spelled.runtime,
      .id = spelled.runtime == Runtime::nspawn || spelled.runtime == Runtime::lxc ? unescaped(spelled.id) : std::string(spelled.id),
      .pod = std::string(spelled.pod),
      .unit = unescaped(spelled.unit),
      .slice = unescaped(spelled.slice),
      .job = spelled.job.empty() && !spelled.yarn_container.empty() ? yarn_application(spelled.yarn_container)
                                                                    : std::string(spelled.job),
      .job_step = std::string(spelled.job_step),
      .job_user = std::string(spelled.job.empty() ? std::string_view() : spelled.job_user),
      .user = spelled.user};
  std::replace(place.pod.begin(), place.pod.end(), '_', '-');
  return place;
}

std::string yarn_application_of(std::string_view folder) {
  while (!folder.empty())
    if (const std::string_view part = core::cut_at(folder, '/'); is_yarn_container(part)) return yarn_application(part);
  return {};
}

std::string_view unit_of(std::string_view path) {
  return read(path).unit;
}

std::string_view container_of(std::string_view path) {
  return short_id(read(path).id);
}

bool is_container_id(std::string_view text) {
  return text.size() == kIdDigits && std::all_of(text.begin(), text.end(), is_hex_digit);
}

std::string_view short_id(std::string_view id) {
  return is_container_id(id) ? id.substr(0, kShortIdDigits) : id;
}

}  // namespace atalaya::cgroup
