// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <span>

namespace atalaya::io {

// Hash of a series: kind, tags and text, independent of the order of tags.
uint64_t series_hash(const atalaya_sample &sample);

// Hash of a whole batch: identifies a retry of the batch that is being delivered.
uint64_t fingerprint(std::span<const atalaya_sample> samples);

}  // namespace atalaya::io
