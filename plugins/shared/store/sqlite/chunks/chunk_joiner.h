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
// bytes of tables and indexes, whatever is in it.
//
// It looks at each new chunk, with those before it, and once more when it is old, with those before and after it: so that a chunk
// is not joined again with each of the next ones. A transaction adds a joined chunk and deletes the others.
class ChunkJoiner {
 public:
  // Points further apart than `max_span_ns` do not share a chunk: retention and roll-ups delete whole ones.
  ChunkJoiner(Database &database, Packer &packer, int64_t max_span_ns);

  // To be called while no chunks are being packed. `work` is the packer's measure. True: there is more to do at once.
  bool step(int64_t now_ns, int64_t work);

 private:
  struct Candidate {
    int64_t id = 0, entity = 0, first_ns = 0, last_ns = 0, arrived_ns = 0;
    int64_t head = 0, data = 0;                               // bytes
    int64_t joined_bytes() const { return data + head / 4; }  // about: heads have less in them
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
  // The candidate and small ones directly before it, in order of time; `with_next`: also those directly after it.
  std::vector<Candidate> group_of(const Candidate &one, bool with_next);
  void join(std::span<const Candidate> group, bool is_final, int64_t &work);
  bool append(const Candidate &chunk, int64_t &work);

  Database &database_;
  Packer &packer_;
  int64_t max_span_ns_;
  Statement next_, before_, after_, read_, add_, remove_;
  int64_t fresh_ = 0, old_ = 0;                   // ids up to which the chunks were looked at
  int64_t next_old_ns_ = INT64_MIN;               // when the next one is old
  std::unordered_map<int64_t, Waiting> waiting_;  // by entity
  double shrink_ = 1;                             // size of the last joined chunks, of what was expected
  std::set<int64_t> damaged_;                     // ids
  std::vector<Column> columns_;
  ChunkReader reader_;
  ChunkEncoder encoder_;
  Chunk chunk_;
};

}  // namespace atalaya::store
