// SPDX-License-Identifier: Apache-2.0
// Flows as hosts report them, in short form.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/flow.h"

namespace atalaya::graph::test {

// A flow that `process` of `host` opened from `local` to `remote`.
inline Flow opens(const std::string &host, const std::string &process, const std::string &local, const std::string &remote,
                  const std::string &port, double out, double in) {
  Flow flow;
  flow.host = host;
  flow.process = process;
  flow.pid = std::to_string(process.size());
  flow.local = endpoint_of(local).address;
  flow.remote = endpoint_of(remote).address;
  flow.other_port = endpoint_of(local).port;
  flow.port = port;
  flow.protocol = "tcp";
  flow.moved = {out, in};
  return flow;
}

// A flow that it accepted at `local` from `remote`.
inline Flow takes(const std::string &host, const std::string &process, const std::string &local, const std::string &remote,
                  const std::string &port, double out, double in) {
  Flow flow = opens(host, process, local, remote, port, out, in);
  flow.opened = false;
  flow.other_port = endpoint_of(remote).port;
  return flow;
}

}  // namespace atalaya::graph::test
