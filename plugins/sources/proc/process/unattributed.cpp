// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/unattributed.h"

#include <algorithm>
#include <utility>

namespace atalaya::proc {
namespace {

bool went_down(const procfs::HostBusy &before, const procfs::HostBusy &now) {
  return now.user_ns < before.user_ns || now.kernel_ns < before.kernel_ns || now.irq_ns < before.irq_ns;
}

// Divides `amount` in the ratio of pending user and kernel time, and returns the user part.
int64_t user_part(int64_t amount, int64_t user_owed, int64_t kernel_owed) {
  const auto user = static_cast<double>(std::max<int64_t>(user_owed, 0));
  const auto kernel = static_cast<double>(std::max<int64_t>(kernel_owed, 0));
  if (user + kernel == 0) return 0;
  const auto part = static_cast<int64_t>(static_cast<double>(amount) * (user / (user + kernel)));
  return std::clamp<int64_t>(part, 0, amount);
}

}  // namespace

std::optional<Remainder> Unattributed::add(const procfs::HostBusy &busy, const CpuTime &attributed, bool baseline) {
  const std::optional<procfs::HostBusy> before = std::exchange(previous_, busy);
  if (!before || baseline || went_down(*before, busy)) {
    pending_user_ns_ = pending_kernel_ns_ = pending_irq_ns_ = 0;
    return std::nullopt;
  }
  pending_user_ns_ += static_cast<int64_t>(busy.user_ns - before->user_ns) - static_cast<int64_t>(attributed.user_ns);
  pending_kernel_ns_ += static_cast<int64_t>(busy.kernel_ns - before->kernel_ns) - static_cast<int64_t>(attributed.kernel_ns);
  pending_irq_ns_ += static_cast<int64_t>(busy.irq_ns - before->irq_ns);

  const int64_t due = std::max<int64_t>(pending_user_ns_ + pending_kernel_ns_ + pending_irq_ns_, 0);
  const int64_t irq = std::min(pending_irq_ns_, due);
  const int64_t user = user_part(due - irq, pending_user_ns_, pending_kernel_ns_);
  const int64_t kernel = due - irq - user;
  pending_irq_ns_ -= irq;
  pending_user_ns_ -= user;
  pending_kernel_ns_ -= kernel;
  settle_charged_irq();
  return Remainder{static_cast<uint64_t>(irq), static_cast<uint64_t>(user), static_cast<uint64_t>(kernel)};
}

// Once the debt is paid, pending interrupt time above the noise must have been charged to tasks. It is removed, else it would later
// be reported as unattributed.
void Unattributed::settle_charged_irq() {
  const int64_t debt = -(pending_user_ns_ + pending_kernel_ns_ + pending_irq_ns_);
  const int64_t charged = pending_irq_ns_ - debt - noise_ns_;
  if (charged <= 0) return;
  pending_irq_ns_ -= charged;
  (pending_user_ns_ < pending_kernel_ns_ ? pending_user_ns_ : pending_kernel_ns_) += charged;
}

}  // namespace atalaya::proc
