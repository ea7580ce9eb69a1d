// SPDX-License-Identifier: Apache-2.0
// Converts the bytes of one job's history file to spans. Detects the format (Spark event log or
// MapReduce history) and the compression.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "plugins/shared/protocols/avro/avro.h"
#include "plugins/shared/protocols/jhist/jhist_reader.h"
#include "plugins/shared/protocols/sparklog/inflater.h"
#include "plugins/sources/hadoop/model/mapreduce_model.h"
#include "plugins/sources/hadoop/model/spark_model.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxLine = size_t{32} << 20;  // longer lines are skipped

struct Rules {
  Topology topology;
  Facts facts;
};

class History {
 public:
  enum class Form { unknown, jhist, jhist_binary, old_text, spark, none };

  // name: file or folder name without the suffixes of state and codec; used as job id if the history contains none.
  History(const Rules &rules, std::string_view name);

  // Consumes the spans parsed so far. Returns false to stop.
  using Consume = std::function<bool()>;
  // Parses the next bytes and appends completed spans in file order. Few bytes may become many spans, so `consume` is called
  // repeatedly to consume them. Returns false if `consume` stopped; then feed() must not be called again.
  bool feed(
      std::string_view bytes, protocols::Spans &out, const Consume &consume = [] { return true; });
  // Called at the current end of the file. Parses a last line without a newline if it is complete.
  void end_of_file(protocols::Spans &out);
  // Starts the next part of a rolled log; numbers ascend.
  void next_part(uint64_t number);
  // Appends open spans that were not reported yet.
  void open(protocols::Spans &out);

  Form form() const { return form_; }  // Form::none: the bytes are no history
  protocols::Position position() const { return {part_, position_}; }
  bool ended() const;                      // the job has ended
  bool broken() const { return broken_; }  // the rest of this part is unreadable
  size_t waiting() const;                  // buffered bytes after the last complete line
  const std::string &job() const;
  // Returns the key that identifies this history, also after its file is moved; empty until its job id is known.
  const std::string &key() const { return key_; }
  const protocols::Damage &damage() const { return damage_; }

 private:
  bool inflate(std::string_view bytes, protocols::Spans &out, const Consume &consume);
  bool take_piece(std::string_view text, protocols::Spans &out, const Consume &consume);
  void take_text(protocols::Spans &out);
  bool detect();
  size_t next_size(std::string_view text) const;
  void take_line(std::string_view line, protocols::Spans &out);
  void take_values(protocols::Spans &out);
  core::Status take_event(const core::Result<protocols::Event> &read, protocols::Spans &out);
  void read_schema(std::string_view json);
  void skip_line();
  void mark_broken(std::string_view why);
  void add_key();
  void set_positions(protocols::Spans &spans, size_t from) const;
  void count_damage(std::string_view why);

  const Rules &rules_;
  Form form_ = Form::unknown;
  std::unique_ptr<protocols::Inflater> inflater_;
  std::string raw_;      // the first bytes, until the codec is known
  std::string text_;     // decompressed text from position_ on
  std::string scratch_;  // buffer for a binary event converted to JSON
  uint64_t position_ = 0, lines_ = 0, part_ = 0;
  bool codec_detected_ = false, broken_ = false, skipping_ = false, schema_read_ = false;
  uint64_t hash_;
  std::string key_;
  protocols::Damage damage_;
  protocols::JhistReader jhist_;
  protocols::AvroSchema schema_;
  MapReduceModel mapreduce_;
  SparkModel spark_;
};

}  // namespace atalaya::hadoop
