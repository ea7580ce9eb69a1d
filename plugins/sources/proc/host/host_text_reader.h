// SPDX-License-Identifier: Apache-2.0
// Reads complete files below a root folder into one buffer that grows to the largest file.
#pragma once

#include <atalaya/plugin.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/host/procfs/files.h"

namespace atalaya::proc {

// A file that stays open between windows, and the metrics that are absent when it cannot be read.
struct Input {
  procfs::PersistentFile file;
  std::string_view subject;  // start of the log line on a failure: "sys.load is", followed by "absent"
  bool logged = false;
};

class TextReader {
 public:
  TextReader(Host host, std::string root) : host_(host), root_(std::move(root)) {}

  // Opens the root folder; throws Failure on an error.
  void open();
  int folder() const { return folder_.get(); }
  bool is_host() const { return root_ == "/"; }

  // Returns a text that is valid until the next read. Logs the first failure of each input.
  std::optional<std::string_view> read(Input &input);
  // Reads an optional file; a failure is not logged.
  std::optional<std::string_view> read(int folder, const char *path);
  // The path of a file of /proc/PID that shows the host's namespaces (mounts, network): that of /proc/self, or of process 1 below
  // another root, because /proc/self would show the namespaces of this process.
  std::string process_path(const std::string &name) const;

 private:
  template <class Read>
  procfs::FileText read_all(Read &&read);

  Host host_;
  std::string root_;
  core::Descriptor folder_;
  std::vector<char> buffer_;
};

}  // namespace atalaya::proc
