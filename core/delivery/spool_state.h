// SPDX-License-Identifier: Apache-2.0
// The reader's position in a spool and the counts of all samples ever appended: the file `state` of a spool's folder.
//
// Two slots of 64 KiB, made in full when the spool is, so that a full disk cannot keep them from being written. A new state goes to
// the slot that does not hold the last one; the whole slot with the higher generation counts. A slot (sizes in bytes):
//    0  magic "ATLP"     4  u16 version = 1     6  u16 0     8  u64 generation
//   16  u32 size of the rest        20  u32 CRC-32C of the 24 + size bytes, this one taken as 0
//   24  u64 id of the spool, next sequence, segment, offset; u64 pipelines, each: name, u64 appended, consumed, delivered,
//       dead_letter, reasons; each reason: text, u64 samples.   A text is a u64 size and so many bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace atalaya::core {

// In samples, since the spool was made. appended - consumed are in the spool; samples dropped before that are in `dropped`
// alone. So accepted = delivered + dropped + dead_letter + queued holds by itself.
struct SpoolCounts {
  std::string pipeline;
  uint64_t appended = 0, consumed = 0, delivered = 0, dead_letter = 0;
  std::map<std::string, uint64_t, std::less<>> dropped;  // by reason

  uint64_t queued() const { return appended - consumed; }
  uint64_t dropped_total() const;
  void drop(std::string_view reason, uint64_t samples);
  bool operator==(const SpoolCounts &) const = default;
};

struct SpoolState {
  uint64_t id = 0, next_sequence = 1;
  uint64_t segment = 0, offset = 0;  // the first record that is not settled; offset 0: the segment's first
  std::vector<SpoolCounts> pipelines;

  SpoolCounts &of(std::string_view pipeline);  // made on first use; the reference holds until the next call
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
  // Makes the file when it is not there. `writable` false: only to look.
  static Result<StateFile> open(const std::string &path, bool writable);

  // The newest whole slot; nothing in a new file, or when both are damaged (then `damaged`).
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
