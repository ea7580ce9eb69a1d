// SPDX-License-Identifier: Apache-2.0
#include "core/cli/features.h"

#include <glob.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>

#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/isolation/launcher/capability_names.h"
#include "core/plugin/strided.h"

namespace atalaya::core::cli {
namespace {

constexpr size_t kMaxFile = 1 << 20;
constexpr std::string_view kUnitFolder = "/etc/systemd/system/atalaya.service.d";

std::string process_folder(int pid) {
  return pid == 0 ? "/proc/self" : "/proc/" + std::to_string(pid);
}

// Files that show how the running kernel was built, for hosts where its configuration cannot be read.
struct KernelSign {
  std::string_view option, file;
};
constexpr std::array<KernelSign, 4> kKernelSigns = {{{"CONFIG_TASK_IO_ACCOUNTING", "/proc/self/io"},
                                                     {"CONFIG_SCHED_INFO", "/proc/self/schedstat"},
                                                     {"CONFIG_PSI", "/proc/pressure"},
                                                     {"CONFIG_DEBUG_INFO_BTF", "/sys/kernel/btf/vmlinux"}}};

// The features of a component in the order in which its needs name them, the component itself first.
std::vector<Feature> features_of(const atalaya_component &component) {
  const std::string name = text_of(component.name);
  const std::string kind(kind_name(component.kind));
  std::vector<Feature> features{{.name = name, .kind = kind, .component = name, .needs = {}, .broken = {}}};
  const Strided<atalaya_need> needs(component.needs, component.need_count, component.need_size);
  for (uint32_t i = 0; i < needs.count(); ++i) {
    const atalaya_need need = needs.at(i);
    const std::string wanted = need.feature.size == 0 ? name : name + "-" + text_of(need.feature);
    auto feature = std::find_if(features.begin(), features.end(), [&](const Feature &known) { return known.name == wanted; });
    if (feature == features.end())
      feature = features.insert(feature, {.name = wanted, .kind = kind, .component = name, .needs = {}, .broken = {}});
    feature->needs.push_back({.type = need.type,
                              .optional = need.optional != 0,
                              .name = text_of(need.name),
                              .lost = text_of(need.reason),
                              .met = Met::unknown,
                              .remedy = {}});
  }
  return features;
}

Met kernel_has(const std::string &option) {
  utsname system{};
  ::uname(&system);
  if (auto config = read_file(std::string("/boot/config-") + static_cast<const char *>(system.release), kMaxFile); config)
    return ("\n" + *config).find("\n" + option + "=") != std::string::npos ? Met::yes : Met::no;
  for (const KernelSign &sign : kKernelSigns)
    if (sign.option == option) return ::access(std::string(sign.file).c_str(), F_OK) == 0 ? Met::yes : Met::no;
  return Met::unknown;
}

std::string link_command(const Feature &feature) {
  return "mkdir -p " + std::string(kUnitFolder) + " && ln -sf " + drop_in_path(feature) + " " + std::string(kUnitFolder);
}

void examine_capability(FeatureNeed &need, const Feature &feature, const Subject &subject) {
  const auto number = capability_number(need.name);
  if (!number) {
    need.remedy = "use a newer version of atalaya: this one does not know the capability";
    return;
  }
  need.met = (subject.capabilities >> *number & 1) != 0 ? Met::yes : Met::no;
  if (need.met == Met::yes) return;
  const std::string link = link_command(feature) + " && systemctl daemon-reload && systemctl restart atalaya";
  const char *by_hand = ::geteuid() == 0 ? "give this root the capability" : "run as root";
  need.remedy = subject.service ? link : std::string(by_hand) + "; for the service: " + link;
  need.short_remedy = (subject.service ? "" : std::string(by_hand) + "; for the service: ") + "drop-in " + feature.name;
}

// The name may be a pattern, because hosts name the same file differently.
std::string first_match(const std::string &pattern) {
  glob_t found{};
  const bool any = ::glob(pattern.c_str(), GLOB_BRACE, nullptr, &found) == 0 && found.gl_pathc > 0;
  std::string path = any ? found.gl_pathv[0] : pattern;
  ::globfree(&found);
  return path;
}

void examine_file(FeatureNeed &need, const Subject &subject) {
  // For another process, only the existence of the file can be examined.
  const bool here = ::access(first_match(subject.root + need.name).c_str(), subject.service ? F_OK : R_OK) == 0;
  const int error = errno;
  need.met = here ? Met::yes : Met::no;
  if (here) return;
  need.remedy = error == ENOENT ? "use a host that has " + need.name : "make " + need.name + " readable: " + error_text(error);
}

void examine(FeatureNeed &need, const Feature &feature, const Subject &subject) {
  if (need.type == ATALAYA_NEED_CAPABILITY) return examine_capability(need, feature, subject);
  if (need.type == ATALAYA_NEED_FILE) return examine_file(need, subject);
  need.met = kernel_has(need.name);
  if (need.met != Met::yes) need.remedy = "use a kernel built with " + need.name;
  if (need.met == Met::unknown) need.remedy += "; the configuration of this kernel cannot be read from /boot";
}

constexpr std::string_view kAllDevices = "PrivateDevices=no";

// Settings that a capability needs and that the base unit does not have.
struct UnitLine {
  std::string_view capability, line, why;
};
constexpr std::array<UnitLine, 8> kUnitLines = {
    {{"CAP_BPF", "SystemCallFilter=bpf", "the system call that needs the capability"},
     {"CAP_BPF", "LimitMEMLOCK=infinity", "kernels before 5.11 count maps as locked memory"},
     {"CAP_PERFMON", "SystemCallFilter=perf_event_open", "the system call that needs the capability"},
     {"CAP_SYSLOG", "ProtectKernelLogs=no", "the protection removes the capability"},
     {"CAP_SYSLOG", "ProtectKernelTunables=no", "the protection hides /proc/kallsyms"},
     {"CAP_SETUID", "SystemCallFilter=setresuid", "the system call that needs the capability"},
     {"CAP_SYS_RAWIO", kAllDevices, "private devices remove the capability"},
     {"CAP_NET_ADMIN", "RestrictAddressFamilies=AF_NETLINK", "the kernel is queried through netlink sockets"}}};

// Skips a line that is already present: several needs may require it.
void add_line(std::string &text, std::string_view why, std::string_view line) {
  if (text.find("\n" + std::string(line) + "\n") == std::string::npos)
    text += "# " + std::string(why) + "\n" + std::string(line) + "\n";
}

}  // namespace

bool Feature::needs_capability() const {
  return std::any_of(needs.begin(), needs.end(), [](const auto &need) { return need.type == ATALAYA_NEED_CAPABILITY; });
}

Met Feature::state() const {
  const auto any = [this](Met met) {
    return std::any_of(needs.begin(), needs.end(), [met](const FeatureNeed &need) { return need.met == met; });
  };
  if (!broken.empty() || any(Met::no)) return Met::no;
  return any(Met::unknown) ? Met::unknown : Met::yes;
}

bool Feature::failed() const {
  return !broken.empty() ||
         std::any_of(needs.begin(), needs.end(), [](const FeatureNeed &need) { return need.met == Met::no && !need.optional; });
}

std::vector<Feature> features_of(Registry &registry) {
  std::vector<Feature> all;
  for (const uint32_t kind : kComponentKinds) {
    for (const std::string &name : registry.names(kind)) {
      auto opened = registry.open(kind, name);
      if (!opened) {
        all.push_back({name, std::string(kind_name(kind)), name, {}, opened.error()});
        continue;
      }
      for (Feature &feature : features_of(*opened->component)) all.push_back(std::move(feature));
    }
  }
  return all;
}

Result<uint64_t> capabilities_of(int pid) {
  const std::string path = process_folder(pid) + "/status";
  auto status = read_file(path, kMaxFile);
  if (!status) return Error{status.error()};
  static constexpr std::string_view kLine = "\nCapEff:\t";
  const size_t at = status->find(kLine);
  uint64_t capabilities = 0;
  if (at == std::string::npos) return Error{path + " has no line CapEff; mount procfs on /proc"};
  std::from_chars(status->data() + at + kLine.size(), status->data() + status->size(), capabilities, 16);
  return capabilities;
}

Result<Subject> subject_of_process(int pid) {
  const auto capabilities = capabilities_of(pid);
  if (!capabilities) return Error{capabilities.error()};
  Subject subject;
  subject.capabilities = capabilities.value();
  if (pid == 0) return subject;
  subject.service = true;
  subject.root = process_folder(pid) + "/root";
  if (::access((subject.root + "/").c_str(), X_OK) != 0)
    return Error{"cannot examine the files of the agent (pid " + std::to_string(pid) + "): " + error_text(errno) +
                 "; run doctor as root"};
  return subject;
}

void examine(std::vector<Feature> &features, const Subject &subject) {
  for (Feature &feature : features)
    for (FeatureNeed &need : feature.needs) examine(need, feature, subject);
}

std::string drop_in_help() {
  return "To link a drop-in, as root:\n  D=" + std::string(kUnitFolder) + "\n  mkdir -p $D && ln -sf " +
         drop_in_path({.name = "NAME", .kind = {}, .component = {}, .needs = {}, .broken = {}}) +
         " $D\n  systemctl daemon-reload && systemctl restart atalaya\n";
}

std::string drop_in_path(const Feature &feature) {
  return "/usr/share/atalaya/drop-ins/" + feature.name + ".conf";
}

std::string drop_in_text(const Feature &feature) {
  if (!feature.needs_capability()) return "";
  std::string text =
      "# Turns on " + feature.name + " of the " + feature.kind + " \"" + feature.component +
      "\". Made by: atalaya doctor --drop-in " + feature.name + "\n# Install it: " + link_command(feature) +
      "\n[Service]\n"
      "# The agent passes the capabilities to the process of the component and keeps none.\nSystemCallFilter=capset\n";
  for (const FeatureNeed &need : feature.needs) {
    if (need.type != ATALAYA_NEED_CAPABILITY) continue;
    text += "# " + need.name + "; if missing: " + need.lost + "\nAmbientCapabilities=" + need.name +
            "\nCapabilityBoundingSet=" + need.name + "\n";
    for (const UnitLine &line : kUnitLines)
      if (line.capability == need.name) add_line(text, line.why, line.line);
  }
  for (const FeatureNeed &need : feature.needs)
    if (need.type == ATALAYA_NEED_FILE && need.name.starts_with("/dev/"))
      add_line(text, "private devices hide " + need.name, kAllDevices);
  return text;
}

}  // namespace atalaya::core::cli
