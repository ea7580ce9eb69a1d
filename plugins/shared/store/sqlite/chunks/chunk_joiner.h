// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk.h"
#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/packing/packer.h"

namespace atalaya::store {

// Joins small chunks of an entity that follow each other, in bounded steps on the thread of the writer: a chunk costs about 100
// bytes of tables and indexes, whatever its content.
//
// It checks each new chunk, with those before it, and once more when it is old, with those before and after it: so that a chunk
// is not joined again with each of the next ones. A transaction adds a joined chunk and deletes the others.
class ChunkJoiner {
 public:
  // Points with a larger distance than `max_span_ns` do not share a chunk, because retention and roll-ups delete complete
  // chunks.
  ChunkJoiner(Database &database, Packer &packer, int64_t max_span_ns);

  // Call it while no chunks are being packed. `work`: maximum work, in the units of the packer. True: there is more work.
  bool step(int64_t now_ns, int64_t work);

 private:
  struct Candidate {
    int64_t id = 0, entity = 0, first_ns = 0, last_ns = 0, arrived_ns = 0;
    int64_t head = 0, data = 0;                               // sizes in bytes
    int64_t joined_bytes() const { return data + head / 4; }  // an estimate, because the head of a joined chunk is smaller
  };

  // Small chunks of an entity since its last join.
  struct Waiting {
    int64_t bytes = 0;
    size_t chunks = 0;
  };

  bool look(int64_t &walk, bool is_final, int64_t arrived_before_ns, int64_t &work, std::optional<Transaction> &transaction);
  bool is_enough(const Candidate &chunk);
  bool is_small(const Candidate &chunk) const;
  static Candidate candidate_of(const Row &row);
  // The candidate and the small chunks directly before it, in order of time; `with_next`: also those directly after it.
  std::vector<Candidate> group_of(const Candidate &one, bool with_next);
  void join(std::span<const Candidate> group, bool is_final, int64_t &work);
  bool append(const Candidate &chunk, int64_t &work);

  Database &database_;
  Packer &packer_;
  int64_t max_span_ns_;
  Statement next_, before_, after_, read_, add_, remove_;
  int64_t checked_new_id_ = 0, old_ = 0;          // ids up to which chunks were checked
  int64_t next_old_ns_ = INT64_MIN;               // time at which the next chunk is old
  std::unordered_map<int64_t, Waiting> waiting_;  // small chunks by entity
  double shrink_ratio_ = 1;                       // ratio of the size of the last joined chunks to the expected size
  std::set<int64_t> damaged_;                     // ids of damaged chunks
  std::vector<Column> columns_;
  ChunkReader reader_;
  ChunkEncoder encoder_;
  Chunk chunk_;
};

}  // namespace atalaya::store
