// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <string>
#include <unordered_map>

#include "plugins/shared/protocols/base/span.h"

namespace atalaya::hadoop {

// Converts spans to samples of a batch.
class SpanWriter {
 public:
  // max_names: maximum distinct counter names; counters with further names are omitted and counted.
  SpanWriter(Host host, size_t max_names);

  void write(const protocols::Span &span, Batch &batch);
  uint64_t omitted() const { return omitted_; }

 private:
  uint32_t counter_name(const protocols::Counter &counter);

  const Host host_;
  const size_t max_names_;
  struct {
    uint32_t host, framework, job, name, stage, task, attempt, phase, locality, executor, source, quality, fact, value, error;
    uint32_t bytes, records, remote_bytes, gc_time, outcome, slots;
  } ids_;
  std::unordered_map<std::string, uint32_t> counters_;  // metric ids by counter group and name
  std::string scratch_;
  uint64_t omitted_ = 0;
};

// Writes "counter.GROUP.NAME" with the characters that metric names allow.
void counter_metric(const protocols::Counter &counter, std::string &out);

}  // namespace atalaya::hadoop
