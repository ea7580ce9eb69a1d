// SPDX-License-Identifier: Apache-2.0
// What became of the content of files since the last look: more of it, a truncation, or the copy that was made before one.
#pragma once

#include "plugins/shared/tail/known_files.h"

namespace atalaya::tail {

class Changes {
 public:
  Changes(Context &context, KnownFiles &files) : context_(context), files_(files) {}

  void look();

 private:
  void check(File &file);
  void truncated(File &file);
  File *copy_made_of(const File &file);
  File *original_of(const File &copy);
  void judge(File &file);

  Context &context_;
  KnownFiles &files_;
};

}  // namespace atalaya::tail
