// SPDX-License-Identifier: Apache-2.0
// Whole files below a root, read into one buffer that grows to the largest of them.
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

// A kept file, and the loss without it.
struct Input {
  procfs::KeptFile file;
  std::string_view loss;  // "sys.load is"
  bool logged = false;
};

class TextReader {
 public:
  TextReader(Host host, std::string root) : host_(host), root_(std::move(root)) {}

  // Opens the root; throws Failure when it is not a folder.
  void open();
  int folder() const { return folder_.get(); }
  bool is_host() const { return root_ == "/"; }

  // The text is valid until the next read. The first failure of each input is logged, with the loss.
  std::optional<std::string_view> read(Input &input);
  // A file that may well be missing; nothing is logged.
  std::optional<std::string_view> read(int folder, const char *path);
  // A file of a process in the namespaces of the host: below another root process 1, because /proc/self is in the namespaces of
  // this process.
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
