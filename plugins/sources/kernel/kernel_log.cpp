// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/kernel/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace atalaya::kernel {
namespace {

constexpr size_t kBuffer = 16384;       // a record is shorter
constexpr int kMaxRecords = 1'000'000;  // per call: a program may write faster than this loop reads

}  // namespace

KernelLog::KernelLog(core::Descriptor file) : file_(std::move(file)), buffer_(kBuffer) {}

core::Status KernelLog::open(const std::string &path) {
  *this = KernelLog(core::Descriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)));
  if (!file_) return core::Error{"cannot open " + path + ": " + core::error_text(errno)};
  // With kernel.dmesg_restrict = 1, open succeeds and read fails.
  const ssize_t size = ::read(file_.get(), buffer_.data(), buffer_.size());
  const int error = size < 0 && errno != EAGAIN && errno != EPIPE ? errno : 0;
  if (error == 0 && ::lseek(file_.get(), 0, SEEK_END) >= 0) return core::Done{};
  const std::string text = core::error_text(error != 0 ? error : errno);
  close();
  return core::Error{"cannot read " + path + ": " + text};
}

void KernelLog::close() {
  file_.reset();
}

uint64_t KernelLog::read(const Callback &take) {
  uint64_t lost = 0;
  for (int i = 0; i < kMaxRecords && file_; ++i) {
    const ssize_t size = ::read(file_.get(), buffer_.data(), buffer_.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EPIPE) continue;   // records were overwritten; the next sequence number shows how many
    if (size < 0 && errno == EINVAL) continue;  // longer than the buffer; it is skipped, and its number is missing
    if (size <= 0) break;
    const auto record = parse_record({buffer_.data(), static_cast<size_t>(size)});
    if (!record) {
      ++lost;
      continue;
    }
    if (next_ && record->sequence > *next_) lost += record->sequence - *next_;
    next_ = record->sequence + 1;
    if (record->from_kernel) take(*record);
  }
  return lost;
}

}  // namespace atalaya::kernel
