// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/model/facts.h"

#include <algorithm>
#include <string>

#include "core/base/text/text.h"

namespace atalaya::hadoop {
namespace {

constexpr size_t kMaxFact = 1024;  // bytes; longer values are lists of classes, or documents

}  // namespace

bool may_be_secret(std::string_view key, std::string_view value) {
  // The value may be an address with a user, with or without a scheme: jdbc:oracle:thin:scott/tiger@host.
  if (value.size() > kMaxFact || value.find('@') != std::string_view::npos) return true;
  const std::string content = core::lower(value), lower = core::lower(key);
  for (const char *word : {"password", "passwd", "pwd=", "secret", "credential", "signature",
                           "sig=", "token=", "key=", "auth=", "apikey", "accesskey", "private key", "bearer "})
    if (content.find(word) != std::string::npos) return true;
  for (const char *word : {"password", "passwd", "secret", "token", "credential", "key", "auth", "opts", "options", "env",
                           "command", "classpath", "sasl", "kerberos", "private", "signature"})
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace atalaya::hadoop
