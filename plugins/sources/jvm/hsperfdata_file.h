// SPDX-License-Identifier: Apache-2.0
// Reads a JVM's hsperfdata file with pread, because a reader of a mapped file crashes (SIGBUS)
// when the owner truncates it. Reading has no effect on the JVM.
#pragma once

#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/sources/jvm/discovery.h"

namespace atalaya::jvm {

class HsperfdataFile {
 public:
  // Opens the file with the JVM's user id, if the agent may change it.
  explicit HsperfdataFile(const FoundJvm &jvm);
  explicit operator bool() const { return static_cast<bool>(file_); }
  int get() const { return file_.get(); }

 private:
  core::Descriptor file_;
};

// A reusable buffer for the bytes of hsperfdata files. The destructor clears it, because the bytes contain command lines, which may
// contain secrets.
class HsperfdataBytes {
 public:
  HsperfdataBytes() = default;
  HsperfdataBytes(const HsperfdataBytes &) = delete;
  HsperfdataBytes &operator=(const HsperfdataBytes &) = delete;
  ~HsperfdataBytes() { wipe(); }
  // Returns the current bytes of the file; empty if it cannot be read.
  std::string_view read(const HsperfdataFile &file);
  void wipe();

 private:
  std::string buffer_;
  size_t used_ = 0;
};

}  // namespace atalaya::jvm
