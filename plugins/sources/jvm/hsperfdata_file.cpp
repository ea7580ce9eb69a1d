// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/hsperfdata_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "plugins/shared/code/jvm/as_user.h"

namespace atalaya::jvm {
namespace {

constexpr size_t kMaxShared = 256 << 10;

}  // namespace

HsperfdataFile::HsperfdataFile(const FoundJvm &jvm) {
  if (jvm.shared_path.empty()) return;
  const symbols::ProcessRoot root(jvm.target.pid);
  const core::Descriptor found = root.open(jvm.shared_path, O_PATH | O_NOFOLLOW);
  struct stat info {};
  if (!found || ::fstat(found.get(), &info) != 0 || info.st_uid != jvm.target.status.user) return;
  if (symbols::read_mark(jvm.target.pid) != jvm.target.mark) return;   // the pid may belong to another process now
  const AsUser user(jvm.target.status.user, jvm.target.status.group);  // only this user may read it
  file_ = symbols::reopened_if_regular(found);
}

std::string_view HsperfdataBytes::read(const HsperfdataFile &file) {
  wipe();
  if (!file) return {};
  buffer_.resize(kMaxShared);
  used_ = static_cast<size_t>(std::max<ssize_t>(::pread(file.get(), buffer_.data(), buffer_.size(), 0), 0));
  return std::string_view(buffer_).substr(0, used_);
}

void HsperfdataBytes::wipe() {
  ::explicit_bzero(buffer_.data(), used_);
  used_ = 0;
}

}  // namespace atalaya::jvm
