// SPDX-License-Identifier: Apache-2.0
// Phases as spans of a store. A span "phase" is an occurrence; a span "phase.definition" has a definition in a tag, and a later one
// of the same host, program and phase replaces it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/phases/database.h"
#include "plugins/shared/store/store.h"

namespace atalaya::phases {

inline constexpr std::string_view kPhaseSpan = "phase", kDefinitionSpan = "phase.definition", kAnomalySpan = "anomaly";
inline constexpr std::string_view kDefinitionTag = "definition", kApplicationTag = "application";

// Names and values of the fields of a span.
using NumberFields = std::vector<std::pair<std::string, double>>;
NumberFields fields_of(const Occurrence &occurrence);

// An occurrence of a phase in a stored span, and the process that ran it.
struct StoredOccurrence {
  std::string host, process, pid, phase;
  Occurrence occurrence;
};
// Nothing if the span is no occurrence of a phase of a process.
std::optional<StoredOccurrence> occurrence_of(const store::Span &span);

// Reads all definitions. Damaged ones are counted, not fatal.
struct ReadDefinitions {
  size_t read = 0, refused = 0;
  std::string refusal;  // reason of the first damaged definition
};
ReadDefinitions read_definitions(store::Store &store, PhaseDatabase &database, std::string_view application = {});

}  // namespace atalaya::phases
