// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/facts.h"

#include <algorithm>
#include <string>

namespace atalaya::hadoop {
namespace {

constexpr size_t kMaxFact = 1024;  // longer values say nothing at a glance: lists of classes, whole documents

}  // namespace

bool may_be_secret(std::string_view key, std::string_view value) {
  std::string lower(key);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const char *word : {"password", "passwd", "secret", "token", "credential", "key", "auth", "opts", "options", "env",
                           "command", "classpath", "sasl", "kerberos", "private", "signature"})
    if (lower.find(word) != std::string::npos) return true;
  const size_t scheme = value.find("://");
  return value.size() > kMaxFact || (scheme != std::string_view::npos && value.find('@', scheme) != std::string_view::npos);
}

}  // namespace atalaya::hadoop
