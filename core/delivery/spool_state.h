// SPDX-License-Identifier: Apache-2.0
// The position of a spool's reader and the counters of all samples since the spool's creation: the file `state` in its folder.
//
// The file has two slots of 64 KiB, which are allocated when the spool is created, so that they can be written on a full disk. A
// new state is written to the slot that does not contain the last one; the valid slot with the higher generation is the current
// one. A slot (sizes in bytes):
//    0  magic "ATLP"     4  u16 version = 1     6  u16 0     8  u64 generation
//   16  u32 size of the rest        20  u32 CRC-32C of the 24 + size bytes, with 0 in this place
//   24  u64 id of the spool, next sequence, segment, offset; u64 pipelines, each: name, u64 appended, consumed, delivered,
//       dead_letter, reasons; each reason: text, u64 samples.   A text is a u64 size and its bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// Samples of a pipeline since the spool's creation. appended - consumed samples are in the spool. Samples that were dropped before
// they were appended are counted in `dropped` only. Therefore accepted = delivered + dropped + dead_letter + queued.
struct SpoolCounts {
  std::string pipeline;
  uint64_t appended = 0, consumed = 0, delivered = 0, dead_letter = 0;
  std::map<std::string, uint64_t, std::less<>> dropped;  // samples by reason

  uint64_t queued() const { return appended - consumed; }
  uint64_t dropped_total() const;
  void drop(std::string_view reason, uint64_t samples);
  bool operator==(const SpoolCounts &) const = default;
};

struct SpoolState {
  uint64_t id = 0, next_sequence = 1;
  uint64_t segment = 0, offset = 0;  // position of the first record that is not settled; offset 0: the segment's first record
  std::vector<SpoolCounts> pipelines;

  SpoolCounts &counts_of(std::string_view pipeline);  // created on first use; the reference is valid until the next call
  bool operator==(const SpoolState &) const = default;
};

struct StateSlot {
  uint64_t generation = 0;
  SpoolState state;
};
Status encode_slot(const StateSlot &slot, std::string &out);
Result<StateSlot> decode_slot(std::string_view bytes);

class StateFile {
 public:
  StateFile() = default;
  // Opens the file; if `writable`, a missing file is created.
  static Result<StateFile> open(const std::string &path, bool writable);

  // Reads the newest valid slot. False for a new file, or if both slots are damaged (then `damaged` is set).
  bool load(SpoolState &state, bool &damaged);
  Status store(const SpoolState &state);
  Status sync();
  bool is_at(const std::string &path) const { return core::is_at(file_.get(), path); }

 private:
  Descriptor file_;
  uint64_t generation_ = 0;
  std::string bytes_;
};

}  // namespace atalaya::core
