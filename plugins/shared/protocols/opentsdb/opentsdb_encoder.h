// SPDX-License-Identifier: Apache-2.0
// Points for OpenTSDB's /api/put: elements of a JSON array. Source: opentsdb.net/docs/build/html/api_http/put.html.
//   {"metric":"proc.cpu.user","timestamp":1795219532000,"value":99.4,"tags":{"host":"vm","pid":"8860","process":"java"}}
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/base/encode/line_encoder.h"

namespace atalaya::protocols {

// The limit of tags of a point (OpenTSDB's tsd.storage.max_tags). Of a sample with more tags, those in `droppable` are removed in
// their order; a sample that still has too many is refused.
struct TagLimit {
  size_t max_tags = 8;
  std::vector<std::string> droppable;
};

std::unique_ptr<core::Encoder> make_opentsdb(const core::NameOf &name_of, const TagLimit &limit);

}  // namespace atalaya::protocols
