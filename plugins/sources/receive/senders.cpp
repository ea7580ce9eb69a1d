// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/senders.h"

#include <algorithm>

namespace atalaya::receive {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kHour = 3600 * kSecond, kSweepEvery = 60 * kSecond;
// Maximum names of a sender that may be forgotten. It may then add as many again, but the table lasts for decades at that rate.
constexpr size_t kForgottenNames = 64;

}  // namespace

void SenderCounts::count_answer(unsigned status) {
  ++(status < 300 ? accepted : refused);
  if (status == 429) ++throttled;
}

Senders::Senders(const Quotas &quotas, Notice notice, size_t max_senders)
    : quotas_(quotas), notice_(std::move(notice)), max_senders_(max_senders) {}

SenderPtr Senders::find_or_add(std::string_view address, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  auto found = known_.find(std::string(address));
  if (found == known_.end()) {
    forget_idle(now_ns);
    if (known_.size() >= max_senders_) return others_;
    found = known_.emplace(address, std::make_shared<Sender>(std::string(address))).first;
  }
  found->second->used_at_ = now_ns;
  return found->second;
}

// Forgets idle senders, except those with many names in the table, because they would get a second share of it.
void Senders::forget_idle(int64_t now_ns) {
  if (now_ns < last_sweep_ns_ + kSweepEvery) return;
  last_sweep_ns_ = now_ns;
  std::erase_if(known_, [now_ns](const auto &entry) {
    const SenderPtr &sender = entry.second;
    return sender.use_count() == 1 && sender->names == 0 && sender->total_names < kForgottenNames &&
           now_ns >= sender->used_at_ + kHour;
  });
}

std::string Senders::exceeded(const Sender &sender) const {
  if (quotas_.bytes > 0 && sender.bytes_ > quotas_.bytes) return "hourly_bytes (" + std::to_string(quotas_.bytes) + " bytes)";
  if (quotas_.cpu_ns > 0 && sender.cpu_ns_ > quotas_.cpu_ns)
    return "hourly_cpu (" + std::to_string(quotas_.cpu_ns / kSecond) + " s of CPU time)";
  if (quotas_.series > 0 && sender.series_ > quotas_.series)
    return "hourly_series (" + std::to_string(quotas_.series) + " different series)";
  return {};
}

std::optional<Senders::Refusal> Senders::refusal(Sender &sender, int64_t now_ns) {
  Refusal refusal;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (now_ns >= sender.hour_end_) return std::nullopt;
    const std::string quota = exceeded(sender);
    if (quota.empty()) return std::nullopt;
    is_first = sender.refused_++ == 0;
    refusal.retry_after = static_cast<int>((sender.hour_end_ - now_ns) / kSecond + 1);
    refusal.why = "This sender has used its quota " + quota;
  }
  if (is_first)
    notice_("sender " + sender.name + ": " + refusal.why.substr(refusal.why.find("quota ")) +
            " of this hour is used; its requests get 429 for " + std::to_string(refusal.retry_after) +
            " s, other senders' do not; find out what it sends (atalaya query --group-by host), " + "or raise the parameter");
  return refusal;
}

void Senders::charge(Sender &sender, uint64_t bytes, int64_t cpu_ns, int64_t now_ns) {
  uint64_t refused = 0;
  {
    const std::lock_guard lock(mutex_);
    if (now_ns >= sender.hour_end_) {
      refused = sender.refused_;
      start_hour(sender, now_ns);
    }
    sender.bytes_ += bytes;
    sender.cpu_ns_ += cpu_ns;
    const uint64_t series = sender.series.estimate();
    if (series > sender.series_) sender.counts.new_series += series - sender.series_;
    sender.series_ = series;
  }
  if (refused > 0) notice_("sender " + sender.name + ": " + std::to_string(refused) + " requests were refused in its last hour");
}

std::vector<SenderPtr> Senders::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<SenderPtr> all{others_, unidentified_};
  for (const auto &[name, sender] : known_) all.push_back(sender);
  return all;
}

void Senders::start_hour(Sender &sender, int64_t now_ns) {
  if (sender.hour_end_ != 0) sender.series.clear();
  sender.hour_end_ = now_ns + kHour;
  sender.bytes_ = sender.refused_ = sender.series_ = 0;
  sender.cpu_ns_ = 0;
}

}  // namespace atalaya::receive
