// SPDX-License-Identifier: Apache-2.0
// Client of HotSpot's attach protocol. To request a socket, a client creates a trigger file and sends SIGQUIT; the JVM then opens a
// socket in its /tmp, which accepts one command per connection. A JVM that does not treat the signal as an attach request prints
// its thread stacks to the application's output instead. So this client signals only JVMs that accept it, and never twice.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
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

// Whether the process has certainly ended. A read that fails for lack of descriptors or memory proves nothing.
bool has_ended(const Target &target);
// Whether the process has ended, is a zombie, or may not be examined: no advice can help then.
bool is_unreachable(const Target &target);

// An empty file in the JVM's /tmp, owned by the JVM's user. The destructor removes it if the constructor created it.
class UserFile {
 public:
  UserFile(core::Descriptor folder, std::string name, const Target &target);
  UserFile(const UserFile &) = delete;
  UserFile &operator=(const UserFile &) = delete;
  ~UserFile();
  bool created() const { return error_ == 0; }
  int error() const { return error_; }  // errno; EEXIST: it exists
  void keep() { error_ = EEXIST; }      // the file is removed by another owner

 private:
  core::Descriptor folder_;
  std::string name_;
  uint32_t user_, group_;
  int error_ = 0;
};

// A command to a JVM.
struct Call {
  std::string_view operation, argument;
  int min_version = 0;         // first JVM version that supports the command
  std::string_view purpose{};  // "write a perf map"
  size_t max_answer = size_t{64} << 10;
};

// The attach state of one JVM. It must exist as long as commands are sent to that JVM.
class Attachment {
 public:
  // Runs a jcmd command, such as "Compiler.perfmap", and returns the JVM's answer. Returns an error if the JVM has ended, does not
  // answer before the timeout, or reports a failure.
  core::Result<std::string> run(const Target &target, std::string_view command, int64_t timeout_ns);
  // Sends any command in the same way. The answer is a view of `bytes`, a reusable buffer.
  core::Result<std::string_view> request(const Target &target, const Call &call, int64_t timeout_ns, std::string &bytes);

  // Whether the JVM was signalled and has not opened its socket yet: the signal may be pending.
  bool is_waiting() const { return trigger_.has_value(); }

 private:
  core::Result<core::Descriptor> connection(const Target &target, const Call &call, int64_t deadline_ns);
  // Makes the JVM open a socket that differs from `old`.
  core::Result<core::Descriptor> make_jvm_listen(const Target &target, const Call &call, const symbols::ProcessRoot &root,
                                                 const core::Descriptor &folder, const core::Descriptor &old, int64_t deadline_ns);
  core::Status signal(const Target &target, const core::Descriptor &process, const core::Descriptor &folder,
                      const core::Descriptor &old);

  bool signalled_ = false;
  std::optional<UserFile> trigger_;  // by which the JVM recognises the signal as an attach request
};

// The first version with Compiler.perfmap.
inline constexpr int kPerfMapMinVersion = 17;

// Creates the file of the JVM's perf map, owned by the JVM's user, if it does not exist: otherwise the JVM would follow a file
// with that name, such as the symbolic link of another user. Returns an error if another user has created it, or could replace it.
// A file that this call created is removed with the result.
core::Result<std::unique_ptr<UserFile>> reserve_perf_map(const Target &target);

// Encodes a request; parses an answer, whose first line is a number, 0 on success. Pure.
std::string request_bytes(std::string_view operation, std::string_view argument);
core::Result<std::string_view> parse_answer(std::string_view bytes);

}  // namespace atalaya::jvm
