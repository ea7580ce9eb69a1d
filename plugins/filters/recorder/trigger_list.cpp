// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/trigger_list.h"

#include <array>

namespace atalaya::recorder {
namespace {

constexpr size_t kMaxKnown = 4096;  // maximum known spans; beyond it the oldest is removed

}  // namespace

TriggerList::TriggerList(Host host, const std::vector<std::string> &texts) : seed_(io::random_seed()) {
  for (const std::string &text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Failure(Code::bad_config, "parameter \"on\": \"" + text + "\" is not TAG=PATTERN, such as alert=*");
    const std::array<std::string, 1> pattern{text.substr(equals + 1)};
    auto list = io::MatcherList::parse(pattern);
    if (!list) throw Failure(Code::bad_config, "parameter \"on\": " + list.error());
    conditions_.push_back({text.substr(0, equals), host.intern(text.substr(0, equals)), std::move(*list)});
  }
}

std::optional<std::string> TriggerList::cause_of(const Sample &sample) {
  for (const Condition &one : conditions_) {
    const atalaya_tag *const tag = find_tag(sample, one.key);
    if (tag == nullptr || !one.pattern.matches(view(tag->value))) continue;
    if (sample.kind == ATALAYA_SPAN && !is_new(sample)) return std::nullopt;
    return one.tag + "=" + std::string(view(tag->value));
  }
  return std::nullopt;
}

// A span with known tags and start replaces the earlier one and is not new.
bool TriggerList::is_new(const Sample &sample) {
  std::string identity(key_.identity_of(sample));
  identity.append(reinterpret_cast<const char *>(&sample.time_ns), sizeof(sample.time_ns));
  const uint64_t hash = io::identity_hash(identity, seed_);
  if (!known_.insert(hash).second) return false;
  order_.push_back(hash);
  if (order_.size() > kMaxKnown) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

}  // namespace atalaya::recorder
