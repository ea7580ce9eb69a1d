// SPDX-License-Identifier: Apache-2.0
// Finds the program of a process and its place (container, unit, job). It reads files of other processes, which may block: use it
// on a separate thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/host/containers/containers.h"
#include "plugins/translators/names/resolve/families.h"
#include "plugins/translators/names/resolve/lineage.h"
#include "plugins/translators/names/resolve/process_files.h"
#include "plugins/translators/names/rules.h"

namespace atalaya::names {

// Tags of the place of a process, in the order of Answer::places.
inline constexpr std::array<std::string_view, 12> kPlaceTags = {"container", "runtime", "pod", "namespace", "project",  "service",
                                                                "unit",      "slice",   "job", "job.step",  "job.user", "workload"};
using Places = std::array<std::string, kPlaceTags.size()>;
inline constexpr size_t kJob = 8, kJobStep = 9, kJobUser = 10, kWorkload = 11;  // indexes of Places

inline uint32_t hash_of(std::string_view name) {
  return static_cast<uint32_t>(std::hash<std::string_view>{}(name));
}

struct Question {
  int32_t pid = 0;
  uint32_t name = 0;         // hash of the kernel's name
  int64_t start_ns = 0;      // start time in the sample; pid and start time identify the process
  int64_t requested_ns = 0;  // CLOCK_BOOTTIME; a process with this pid that started later is another one
  uint64_t image = 0;        // ProcessStat::image of the known program; 0: none
  std::string cgroup;        // set instead of the pid: find only the place of this path
  bool if_java = false;      // name the process only if its program is java; otherwise find only its inherited tags
  bool has_started = false;  // the process or its program has just started: `name` and `start_ns` are unknown
};

struct Answer {
  Question question;
  bool found = false;         // false: the process has ended
  bool same_program = false;  // the process still runs the known program: `naming` is empty
  bool settled = true;        // false: the result may change, so the question must be sent again soon
  uint32_t name = 0;          // hash of the kernel's name for which `naming` is valid
  uint64_t image = 0;
  int64_t start_ns = 0;  // since boot
  Naming naming;
  Tags inherited;  // from its ancestors
  Places places;
  std::string remark;  // log line with the reason for missing names; empty: none
};

class Resolver {
 public:
  struct Options {
    std::string root = "/";
    bool places = false;           // also find the places of processes
    bool job_environment = false;  // also find jobs by the environment of processes
    size_t capacity = 65536;       // maximum number of processes whose inherited tags are known
    std::shared_ptr<Families> families = std::make_shared<Families>(capacity);
  };
  Resolver(std::shared_ptr<const Rules> rules, Options options);
  Resolver(const Resolver &) = delete;
  Resolver &operator=(const Resolver &) = delete;

  Answer answer(const Question &question);

 private:
  Lineage::Reader ancestors();
  void name_process(ProcessFiles &files, const ProcessStat &stat, Answer &answer);
  void name_program(ProcessFiles &files, std::string_view name, Answer &answer);
  void name_jvm(ProcessFiles &files, Answer &answer);
  void find_places(std::string_view cgroup, Answer &answer);
  static void find_job(ProcessFiles &files, Answer &answer);

  std::shared_ptr<const Rules> rules_;
  Options options_;
  core::Descriptor proc_;
  int64_t tick_ns_;
  std::string remark_;
  Lineage lineage_;
  containers::ContainerNames containers_;
  std::unique_ptr<std::array<char, ProcessFiles::kBuffer>> buffer_;
};

}  // namespace atalaya::names
