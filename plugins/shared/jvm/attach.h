// SPDX-License-Identifier: Apache-2.0
// HotSpot's attach protocol: a socket that a JVM opens in its /tmp when it is asked to by a file and SIGQUIT. One command a
// connection. A JVM that does not take the signal so prints the stacks of its threads instead, among what the application prints:
// nothing is sent unless the JVM says that it listens, and never twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/shared/symbols/process_mark.h"
#include "plugins/shared/symbols/process_root.h"

namespace atalaya::jvm {

struct Target {
  int32_t pid = 0;
  symbols::ProcessMark mark;
  symbols::ProcessStatus status;
};

// Whether it surely has: what cannot be read now, for want of descriptors or memory, says nothing.
bool has_ended(const Target &target);

// The file that tells a JVM what the signal means. Gone with this.
class Trigger {
 public:
  // In the JVM's /tmp, belonging to the JVM's user.
  Trigger(core::Descriptor folder, const Target &target);
  Trigger(const Trigger &) = delete;
  Trigger &operator=(const Trigger &) = delete;
  ~Trigger();
  bool made() const { return made_; }

 private:
  core::Descriptor folder_;
  std::string name_;
  uint32_t user_, group_;
  bool made_ = false;
};

// What a JVM is asked.
struct Call {
  std::string_view operation, argument;
  int oldest_version = 0;      // that can answer
  std::string_view purpose{};  // "write the names of their code"
  size_t max_answer = size_t{64} << 10;
};

// What has passed between this process and one JVM. Lives as long as the JVM is of interest.
class Attachment {
 public:
  // What the JVM answered to the command of jcmd, such as "Compiler.perfmap". Waits so long at most. An error when it is not there,
  // does not answer, or says that it could not.
  core::Result<std::string> run(const Target &target, std::string_view command, int64_t timeout_ns);
  // The same of any call. The answer's text lies in `bytes`, whose room is used again.
  core::Result<std::string_view> ask(const Target &target, const Call &call, int64_t timeout_ns, std::string &bytes);

  // Signalled, and it has not answered yet: the signal may still be waiting for it.
  bool is_waiting() const { return trigger_.has_value(); }

 private:
  core::Result<core::Descriptor> connection(const Target &target, const Call &call, int64_t deadline_ns);
  // Makes it open a socket, another one than this.
  core::Result<core::Descriptor> wake(const Target &target, const Call &call, const symbols::ProcessRoot &root,
                                      const core::Descriptor &folder, const core::Descriptor &old, int64_t deadline_ns);
  core::Status signal(const Target &target, const core::Descriptor &process, const core::Descriptor &folder,
                      const core::Descriptor &old);

  bool signalled_ = false;
  std::optional<Trigger> trigger_;
};

// The oldest version that knows Compiler.perfmap.
inline constexpr int kOldestVersion = 17;

// Whether the JVM would write its perf map to a file of its own. It follows what link lies there, and else nobody would have asked.
core::Status may_write_map(const Target &target);

// The bytes of a request, and the text of an answer; the first line of that is a number, 0 when all went well. Pure.
std::string request_bytes(std::string_view operation, std::string_view argument);
core::Result<std::string_view> parse_answer(std::string_view bytes);

}  // namespace atalaya::jvm
