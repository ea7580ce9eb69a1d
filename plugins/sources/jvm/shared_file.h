// SPDX-License-Identifier: Apache-2.0
// Reads the file that a JVM shares. By pread: a mapped file that its owner cuts short would end the reader. The JVM notices
// nothing.
#pragma once

#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/sources/jvm/discovery.h"

namespace atalaya::jvm {

class SharedFile {
 public:
  // As the JVM's user, if that may be.
  explicit SharedFile(const FoundJvm &jvm);
  explicit operator bool() const { return static_cast<bool>(file_); }
  int get() const { return file_.get(); }

 private:
  core::Descriptor file_;
};

// The bytes of such files, one after the other. They hold command lines, which carry secrets: they are wiped.
class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(const SharedBytes &) = delete;
  SharedBytes &operator=(const SharedBytes &) = delete;
  ~SharedBytes() { wipe(); }
  // What the file holds now; empty: nothing.
  std::string_view read(const SharedFile &file);
  void wipe();

 private:
  std::string room_;
  size_t used_ = 0;
};

}  // namespace atalaya::jvm
