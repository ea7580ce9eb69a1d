// SPDX-License-Identifier: Apache-2.0
// Writes phases and anomalies into a store, as the translator does.
#pragma once

#include <atalaya/plugin.hpp>

#include <string>
#include <vector>

#include "plugins/shared/analysis/phases/spans.h"

namespace atalaya::phases {

struct SpanToWrite {
  int64_t start_ns = 0, duration_ns = 0;
  std::string name;
  std::vector<std::pair<std::string, std::string>> tags;  // tags with an empty value are not written
  int64_t samples = 0;                                    // number of samples of a phase; 0: no field
  NumberFields fields;
};

SpanToWrite span_of(const StoredOccurrence &occurrence);
SpanToWrite definition_of(const KnownPhase &phase, const std::string &host, const Symbols &symbols, int64_t now_ns);

// Writes all spans or none. Throws store::Error.
void write_spans(Host host, const std::string &store, const std::vector<SpanToWrite> &spans);

}  // namespace atalaya::phases
