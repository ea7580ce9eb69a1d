// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/write_spans.h"

#include <deque>

#include "core/base/now.h"

namespace atalaya::phases {

SpanToWrite span_of(const StoredOccurrence &occurrence) {
  return {occurrence.occurrence.start_ns,
          occurrence.occurrence.end_ns - occurrence.occurrence.start_ns,
          std::string(kPhaseSpan),
          {{"host", occurrence.host}, {"pid", occurrence.pid}, {"process", occurrence.process}, {"phase", occurrence.phase}},
          static_cast<int64_t>(occurrence.occurrence.threads.count),
          fields_of(occurrence.occurrence)};
}

SpanToWrite definition_of(const KnownPhase &phase, const std::string &host, const Symbols &symbols, int64_t now_ns) {
  return {now_ns,
          0,
          std::string(kDefinitionSpan),
          {{"host", host},
           {std::string(kApplicationTag), phase.application},
           {"phase", phase.id},
           {std::string(kDefinitionTag), definition_json(phase, symbols)}},
          0,
          {}};
}

void write_spans(Host host, const std::string &store, const std::vector<SpanToWrite> &spans) {
  const auto writer = store::open_span_writer(store, [host](uint32_t id) { return host.name_of(id); });
  std::deque<std::vector<atalaya_tag>> tags;
  std::deque<std::vector<atalaya_field>> fields;
  std::vector<atalaya_sample> samples;
  for (const SpanToWrite &span : spans) {
    auto &own_tags = tags.emplace_back();
    for (const auto &[key, value] : span.tags)
      if (!value.empty()) own_tags.push_back({host.intern(key), 0, str(value)});
    auto &own_fields = fields.emplace_back();
    if (span.samples > 0) {
      own_fields.push_back({host.intern("phase.samples"), ATALAYA_I64, {}});
      own_fields.back().value.i64 = span.samples;
    }
    for (const auto &[name, value] : span.fields) {
      own_fields.push_back({host.intern(name), ATALAYA_F64, {}});
      own_fields.back().value.f64 = round_to(value, 4);
    }
    atalaya_sample &sample = samples.emplace_back();
    sample.kind = ATALAYA_SPAN;
    sample.time_ns = span.start_ns;
    sample.duration_ns = span.duration_ns;
    sample.tags = own_tags.data();
    sample.tag_count = static_cast<uint32_t>(own_tags.size());
    sample.fields = own_fields.data();
    sample.field_count = static_cast<uint32_t>(own_fields.size());
    sample.text = str(span.name);
  }
  writer->write(samples, writer->arrival(core::read_clocks()));
}

}  // namespace atalaya::phases
