// SPDX-License-Identifier: Apache-2.0
// Reads a JVM's hsperfdata file. Uses pread, because a mapped file that its owner truncates would crash the reader. Has no effect
// on the JVM.
#pragma once

#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/sources/jvm/discovery.h"

namespace atalaya::jvm {

class HsperfdataFile {
 public:
  // Opens it as the JVM's user, if permitted.
  explicit HsperfdataFile(const FoundJvm &jvm);
  explicit operator bool() const { return static_cast<bool>(file_); }
  int get() const { return file_.get(); }

 private:
  core::Descriptor file_;
};

// A buffer for the bytes of such files. They contain command lines, which may hold secrets, so the buffer is cleared after use.
class HsperfdataBytes {
 public:
  HsperfdataBytes() = default;
  HsperfdataBytes(const HsperfdataBytes &) = delete;
  HsperfdataBytes &operator=(const HsperfdataBytes &) = delete;
  ~HsperfdataBytes() { wipe(); }
  // The file's current bytes; empty: none.
  std::string_view read(const HsperfdataFile &file);
  void wipe();

 private:
  std::string buffer_;
  size_t used_ = 0;
};

}  // namespace atalaya::jvm
