// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/silences.h"

#include <ctime>

#include <algorithm>
#include <string>

namespace atalaya::alerts {
namespace {

int64_t time_of(const std::string &path, const std::string &text) {
  std::tm parts{};
  const char *const end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0')
    throw Failure(Code::bad_config, path + ": \"" + text + "\" is no time in UTC; write it as 2026-12-01T20:00:00Z");
  return static_cast<int64_t>(::timegm(&parts)) * 1'000'000'000;
}

io::MatcherList matchers_of(const std::string &path, const std::string &pattern) {
  auto list = io::MatcherList::parse(std::vector{pattern});
  if (!list) throw Failure(Code::bad_config, path + ": " + list.error());
  return std::move(*list);
}

}  // namespace

Silences::Silences(Host host) {
  for (uint64_t i = 0; host.child("silences", i); ++i) {
    const std::string path = "silences[" + std::to_string(i) + "]", name = "silences[" + std::to_string(i + 1) + "]";
    Silence silence;
    silence.alert = matchers_of(name + ".alert", host.text(path + ".alert"));
    for (uint64_t tag = 0; const auto entry = host.child(path + ".tags", tag); ++tag)
      silence.tags.emplace_back(std::string(entry->key()), matchers_of(name + ".tags", std::string(entry->text())));
    if (const auto from = host.find(path + ".from")) silence.from_ns = time_of(name + ".from", std::string(from->text()));
    if (const auto until = host.find(path + ".until")) silence.until_ns = time_of(name + ".until", std::string(until->text()));
    if (silence.from_ns >= silence.until_ns) throw Failure(Code::bad_config, name + " ends before it begins; swap from and until");
    silences_.push_back(std::move(silence));
  }
}

bool Silences::silence(std::string_view rule, const Tags &tags, int64_t time_ns) const {
  return std::any_of(silences_.begin(), silences_.end(), [&](const Silence &one) {
    if (time_ns < one.from_ns || time_ns >= one.until_ns || !one.alert.matches(rule)) return false;
    return std::all_of(one.tags.begin(), one.tags.end(), [&](const auto &wanted) {
      const auto tag = std::find_if(tags.begin(), tags.end(), [&](const auto &own) { return own.first == wanted.first; });
      return tag == tags.end() ? wanted.second.matches_absent() : wanted.second.matches(tag->second);
    });
  });
}

}  // namespace atalaya::alerts
