// SPDX-License-Identifier: Apache-2.0
// Process data that is expensive to read, so not in each window: user name, cgroup, command line, open files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/shared/host/cgroup/place.h"
#include "plugins/shared/host/procfs/command_lines.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/sources/proc/process/process_model.h"

namespace atalaya::proc {

using cgroup::container_of;
using cgroup::parse_cgroup;
using cgroup::unit_of;

// Maps user ids to names with the passwd file below the root, which is read again when it changes. The name services of the host
// are not used: they may query the network, and a recorded root has other users.
class Users {
 public:
  explicit Users(const std::string &root) : path_(root + "/etc/passwd") {}
  void refresh();
  // The name of the user id, or the id in digits if it has no name. Valid until the next refresh.
  std::string_view name(int64_t id);

 private:
  std::string path_;
  timespec changed_{};
  std::unordered_map<int64_t, std::string> names_;
};

// Texts of a process that are read when the process appears, when its name changes (exec) and when Turns selects it.
struct ProcessTexts {
  std::string cgroup, command;
};
class ProcessTextCache {
 public:
  struct Selection {
    bool cgroup = false;
    procfs::CommandLines commands;
  };
  explicit ProcessTextCache(Selection selection) : selection_(std::move(selection)) {}

  bool reads() const { return selection_.cgroup || !selection_.commands.allow.empty(); }

  const ProcessTexts &get(int folder, const Process &process);
  void refresh(int folder, const Process &process);
  void forget_ended(const ProcessModel &model);

 private:
  struct Entry {
    uint64_t start_ns = 0;
    procfs::Name name;
    ProcessTexts texts;
  };
  void read(int folder, const Process &process, Entry &entry);
  std::string read_command(int folder, const Process &process);

  Selection selection_;
  std::unordered_map<int32_t, Entry> entries_;
  std::vector<char> buffer_ = std::vector<char>(16384);
};

// Selects the processes for expensive reads in this window: half of the budget for the busiest, the rest round-robin by pid.
class ExpensiveReadSelector {
 public:
  explicit ExpensiveReadSelector(size_t budget) : budget_(budget) {}
  // The result is valid until the next call.
  const std::vector<const Process *> &choose(std::span<const Process *const> live);

 private:
  size_t budget_;
  int32_t last_pid_ = 0;
  std::vector<const Process *> chosen_, candidates_;
};

// Number of open descriptors of a process; nothing when access is denied or the process has ended.
std::optional<uint64_t> count_open_files(int folder, int32_t pid);

}  // namespace atalaya::proc
