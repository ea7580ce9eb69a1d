// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/sample/symbols.h"
#include "core/isolation/wire.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// Answers the requests of a child process (wire.h: Request). Limits the names and metrics that one child adds to the agent's
// tables.
class ChildRequests {
 public:
  // `label` is the component that declares metrics.
  ChildRequests(std::string label, Symbols &symbols, Surroundings &surroundings)
      : label_(std::move(label)), symbols_(symbols), surroundings_(surroundings) {}

  // Reads one message from the child's socket, then answers it. Does not wait. False when the connection has ended.
  bool serve(int socket);
  void reset_limits() { added_names_ = added_metrics_ = 0; }  // for a new child

 private:
  std::string reply(uint8_t request, Reader &reader);
  Catalogue::Outcome declare(Reader &reader);

  const std::string label_;
  Symbols &symbols_;
  Surroundings &surroundings_;
  uint32_t added_names_ = 0, added_metrics_ = 0;
};

}  // namespace atalaya::core
