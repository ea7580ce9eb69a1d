// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/spans.h"

#include <cmath>
#include <map>
#include <tuple>

#include "core/base/sample/span_end.h"
#include "plugins/shared/store/lookup.h"

namespace atalaya::phases {
namespace {

void add_instants(NumberFields &fields, const std::string &name, const Moments &moments) {
  if (moments.count <= 0) return;
  fields.emplace_back(name, moments.mean);
  if (moments.count < 2) return;
  fields.emplace_back(name + ".deviation", moments.deviation());
  fields.emplace_back(name + ".skewness", moments.skewness());
}

// The inverse function.
Moments instants_of(double count, double mean, double deviation, double skewness) {
  Moments moments{count, mean, 0, 0};
  if (count < 2) return moments;
  moments.squares = deviation * deviation * (count - 1);
  moments.cubes = skewness * count * std::pow(moments.squares / count, 1.5);
  return moments;
}

using store::tag_of;

class Fields {
 public:
  explicit Fields(const store::Span &span) {
    for (const store::Field &field : span.fields) values_[std::string(field.name)] = store::number_of(field);
  }
  std::optional<double> at(const std::string &name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  Moments moments(const std::string &name, double count) const {
    const auto mean = at(name);
    if (!mean) return {};
    return instants_of(count, *mean, at(name + ".deviation").value_or(0), at(name + ".skewness").value_or(0));
  }

 private:
  std::map<std::string, double> values_;
};

}  // namespace

NumberFields fields_of(const Occurrence &occurrence) {
  NumberFields fields;
  add_instants(fields, "phase.threads", occurrence.threads);
  for (size_t r = 0; r < kResources; ++r)
    add_instants(fields, "phase." + std::string(kResourceNames[r]), occurrence.usage.by_resource[r]);
  return fields;
}

std::optional<StoredOccurrence> occurrence_of(const store::Span &span) {
  if (span.name != kPhaseSpan) return std::nullopt;
  StoredOccurrence found{
      tag_of(span.tags, "host"), tag_of(span.tags, "process"), tag_of(span.tags, "pid"), tag_of(span.tags, "phase"), {}};
  const Fields fields(span);
  const auto samples = fields.at("phase.samples");
  if (!samples || found.process.empty() || found.pid.empty() || found.phase.empty()) return std::nullopt;
  found.occurrence.start_ns = span.start_ns;
  found.occurrence.is_open = span.duration_ns < 0;
  found.occurrence.end_ns = core::end_of(span.start_ns, span.duration_ns);
  found.occurrence.threads = fields.moments("phase.threads", *samples);
  for (size_t r = 0; r < kResources; ++r)
    found.occurrence.usage.by_resource[r] = fields.moments("phase." + std::string(kResourceNames[r]), *samples);
  return found;
}

ReadDefinitions read_definitions(store::Store &store, PhaseDatabase &database, std::string_view application) {
  std::map<std::tuple<std::string, std::string, std::string>, std::string> latest;
  store.spans({{std::string(kDefinitionSpan)}, {}, {}}, [&](const store::Span &span) {
    std::string program = tag_of(span.tags, kApplicationTag);
    if (!application.empty() && program != application) return;
    latest.insert_or_assign({tag_of(span.tags, "host"), std::move(program), tag_of(span.tags, "phase")},
                            tag_of(span.tags, kDefinitionTag));
  });
  ReadDefinitions result;
  for (const auto &[key, json] : latest) {
    const core::Status added = database.add_definition(json);
    ++(added ? result.read : result.refused);
    if (!added && result.refusal.empty()) result.refusal = added.error();
  }
  return result;
}

}  // namespace atalaya::phases
