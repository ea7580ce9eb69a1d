// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/child_errors.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "core/base/files.h"

namespace atalaya::core {
namespace {

constexpr int kMaxParts = 16;  // a process that writes for ever does not delay its end

}  // namespace

std::string LineLimit::accept(std::string_view bytes, std::string_view name, int64_t now_ns) {
  constexpr int64_t kPerByte = 1'000'000'000 / kErrorsPerSecond;
  if (last_ns_ == 0) last_ns_ = now_ns;
  const int64_t earned = (now_ns - last_ns_) / kPerByte;
  credit_ = std::min(kErrorsBurst, credit_ + earned);
  last_ns_ += earned * kPerByte;
  std::string out;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, std::min(end, kMaxErrorLine - line_.size()));
    line_ += part;
    bytes.remove_prefix(part.size());
    const bool ended = !bytes.empty() && bytes.front() == '\n';
    if (ended) bytes.remove_prefix(1);
    if (ended || line_.size() == kMaxErrorLine) add_line(name, out);
  }
  return out;
}

void LineLimit::add_line(std::string_view name, std::string &out) {
  const auto size = static_cast<int64_t>(line_.size()) + 1;
  if (credit_ < size || (reported_ && credit_ < kErrorsBurst / 2)) {  // after a drop, waits until half of the burst is available
    if (!std::exchange(reported_, true))
      out.append("atalaya: warning: ").append(name).append(" writes too much to standard error: further lines are dropped\n");
    ++dropped_;
  } else {
    if (std::exchange(reported_, false))
      out.append("atalaya: warning: ").append(name).append(": ").append(std::to_string(std::exchange(dropped_, 0))) +=
          " lines of standard error dropped\n";
    credit_ -= size;
    out.append(line_) += '\n';
  }
  line_.clear();
}

std::string LineLimit::finish(std::string_view name, int64_t now_ns) {
  std::string out = line_.empty() ? std::string() : accept("\n", name, now_ns);
  if (reported_)
    out.append("atalaya: warning: ").append(name).append(": ").append(std::to_string(std::exchange(dropped_, 0))) +=
        " lines of standard error dropped\n";
  reported_ = false;
  return out;
}

void ChildErrors::forward(int64_t now_ns) {
  forward_part(now_ns);
}

void ChildErrors::end(int64_t now_ns) {
  for (int i = 0; pipe_ && i < kMaxParts && forward_part(now_ns); ++i) {
  }
  pipe_.reset();
  (void)write_all(STDERR_FILENO, limit_.finish(name(), now_ns));
}

// False: no bytes are available. Closes the pipe at its end.
bool ChildErrors::forward_part(int64_t now_ns) {
  std::array<char, 65536> bytes;
  const ssize_t size = ::read(pipe_.get(), bytes.data(), bytes.size());
  if (size == 0) pipe_.reset();
  if (size <= 0) return false;
  (void)write_all(STDERR_FILENO, limit_.accept({bytes.data(), static_cast<size_t>(size)}, name(), now_ns));
  return true;
}

// The name of the child's component, which the child has set.
std::string ChildErrors::name() const {
  std::ifstream file("/proc/" + std::to_string(child_) + "/comm");
  std::string comm;
  std::getline(file, comm);
  for (char &c : comm)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  return "isolated process " + std::to_string(child_) + (comm.empty() ? "" : " (" + comm + ")");
}

}  // namespace atalaya::core
