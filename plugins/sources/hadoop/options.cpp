// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/options.h"

#include <algorithm>
#include <chrono>

#include "plugins/shared/io/match/patterns.h"

namespace atalaya::hadoop {
namespace {

Topology::Names names_of(const Host &host, const char *path) {
  Topology::Names out;
  for (uint64_t i = 0; auto child = host.child(path, i); ++i) out.emplace(child->key(), child->text());
  return out;
}

// "/dc1/r1": components after slashes.
bool is_rack(const std::string &text) {
  return text.size() > 1 && text.starts_with('/') && !text.ends_with('/') && text.find("//") == std::string::npos;
}

Topology topology_of(const Host &host) {
  Topology::Names racks = names_of(host, "racks");
  const auto wrong = std::find_if(racks.begin(), racks.end(), [](const auto &one) { return !is_rack(one.second); });
  if (wrong != racks.end())
    throw Failure(Code::bad_config, "parameter \"racks." + wrong->first + "\": \"" + wrong->second +
                                        "\" is not a rack; write \"/rack\" or \"/datacentre/rack\"");
  return Topology(std::move(racks), names_of(host, "hosts"));
}

}  // namespace

Rules rules_of(const Host &host) {
  return {topology_of(host), {io::read_patterns(host, "facts")}};
}

WebHdfsOptions webhdfs_of(const Host &host) {
  WebHdfsOptions options;
  const auto text = [&](const char *path) {
    const auto value = host.find(path);
    return value ? std::string(value->text()) : std::string();
  };
  options.user = text("user");
  options.tls = {text("tls.ca"), text("tls.certificate"), text("tls.key")};
  options.timeout = std::chrono::nanoseconds(host.integer("timeout"));
  return options;
}

}  // namespace atalaya::hadoop
