// SPDX-License-Identifier: Apache-2.0
// Finds out what a process runs and where. Reads files of other processes, which may keep the reader waiting: used from a thread of
// its own.
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
#include "plugins/shared/containers/containers.h"
#include "plugins/translators/names/process_files.h"
#include "plugins/translators/names/rules.h"

namespace atalaya::names {

// Tags that say where a process runs, in the order of Answer::places.
inline constexpr std::array<std::string_view, 8> kPlaceTags = {"container", "runtime", "pod",  "namespace",
                                                               "project",   "service", "unit", "slice"};
using Places = std::array<std::string, kPlaceTags.size()>;

inline uint32_t hash_of(std::string_view name) {
  return static_cast<uint32_t>(std::hash<std::string_view>{}(name));
}

struct Question {
  int32_t pid = 0;
  uint32_t name = 0;     // hash of the name that the kernel gave it
  int64_t start_ns = 0;  // as the sample says; with the pid it is the identity
  int64_t asked_ns = 0;  // since boot; a process that began later is not the one
  uint64_t image = 0;    // of the program that is known already; 0: none
  std::string cgroup;    // without pid: only where this path is
  bool if_java = false;  // nothing is wanted unless its program is java
};

struct Answer {
  Question question;
  bool found = false;         // false: it has ended
  bool same_program = false;  // it still runs what was known: no naming here
  bool settled = true;        // false: there may be more to know soon
  uint32_t name = 0;          // hash of the kernel's name that the naming is for
  uint64_t image = 0;
  Naming naming;
  Places places;
  std::string remark;  // for the operator, why names are missing
};

class Resolver {
 public:
  struct Options {
    std::string root = "/";
    bool places = false;  // say where processes run, too
  };
  Resolver(std::shared_ptr<const Rules> rules, Options options);
  Resolver(const Resolver &) = delete;
  Resolver &operator=(const Resolver &) = delete;

  Answer answer(const Question &question);

 private:
  void name_program(ProcessFiles &files, std::string_view name, Answer &answer);
  void name_jvm(ProcessFiles &files, Answer &answer);
  void find_places(std::string_view cgroup, Answer &answer);

  std::shared_ptr<const Rules> rules_;
  Options options_;
  core::Descriptor proc_;
  int64_t tick_ns_;
  std::string remark_;
  containers::ContainerNames containers_;
  std::unique_ptr<std::array<char, ProcessFiles::kBuffer>> buffer_;
};

}  // namespace atalaya::names
