// SPDX-License-Identifier: Apache-2.0
// HotSpot's attach protocol: a JVM opens a socket in its /tmp on request, which is a trigger file and SIGQUIT. One command per
// connection. A JVM that does not treat the signal as an attach request prints its thread stacks into the application's output
// instead: so the signal is sent only to JVMs that accept it, and never twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "core/base/result.h"
#include "plugins/shared/code/symbols/process/process_mark.h"
#include "plugins/shared/code/symbols/process/process_root.h"

namespace atalaya::jvm {

struct Target {
  int32_t pid = 0;
  symbols::ProcessMark mark;
  symbols::ProcessStatus status;
};

// True only if it certainly has: a failed read for lack of descriptors or memory proves nothing.
bool has_ended(const Target &target);
// The same, or it is a zombie, or may not be examined: there is nothing to advise.
bool is_gone(const Target &target);

// The trigger file, by which the JVM recognises the signal as an attach request. The destructor removes it.
class Trigger {
 public:
  // Creates it in the JVM's /tmp, owned by the JVM's user.
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

// A command to a JVM.
struct Call {
  std::string_view operation, argument;
  int min_version = 0;         // that supports the command
  std::string_view purpose{};  // "write a perf map"
  size_t max_answer = size_t{64} << 10;
};

// The attach state of one JVM. Keep it as long as the JVM is of interest.
class Attachment {
 public:
  // The JVM's answer to a jcmd command such as "Compiler.perfmap". An error if the JVM has ended, does not answer before the
  // timeout, or reports a failure.
  core::Result<std::string> run(const Target &target, std::string_view command, int64_t timeout_ns);
  // The same for any call. The answer's text points into `bytes`, a reusable buffer.
  core::Result<std::string_view> ask(const Target &target, const Call &call, int64_t timeout_ns, std::string &bytes);

  // Signalled without an answer yet: the signal may still be pending.
  bool is_waiting() const { return trigger_.has_value(); }

 private:
  core::Result<core::Descriptor> connection(const Target &target, const Call &call, int64_t deadline_ns);
  // Makes the JVM open a socket other than `old`.
  core::Result<core::Descriptor> wake(const Target &target, const Call &call, const symbols::ProcessRoot &root,
                                      const core::Descriptor &folder, const core::Descriptor &old, int64_t deadline_ns);
  core::Status signal(const Target &target, const core::Descriptor &process, const core::Descriptor &folder,
                      const core::Descriptor &old);

  bool signalled_ = false;
  std::optional<Trigger> trigger_;
};

// The first version with Compiler.perfmap.
inline constexpr int kMinVersion = 17;

// Makes the file of the JVM's perf map for the JVM's user, unless it exists: the JVM creates or follows whatever has that name, for
// example the symbolic link of another user. An error if another user has made it, or could replace it.
core::Status claim_map(const Target &target);

// The bytes of a request, and the text of an answer, whose first line is a number, 0 on success. Pure.
std::string request_bytes(std::string_view operation, std::string_view argument);
core::Result<std::string_view> parse_answer(std::string_view bytes);

}  // namespace atalaya::jvm
