// SPDX-License-Identifier: Apache-2.0
// Detects changes of file contents since the last scan: appends, truncations, and copies made before a truncation.
#pragma once

#include "plugins/shared/io/tail/known_files.h"

namespace atalaya::tail {

class Changes {
 public:
  Changes(Context &context, KnownFiles &files) : context_(context), files_(files) {}

  void scan();

 private:
  void check(File &file);
  void handle_truncation(File &file);
  File *copy_made_of(const File &file);
  File *original_of(const File &copy);
  void check_copy(File &file);

  Context &context_;
  KnownFiles &files_;
};

}  // namespace atalaya::tail
