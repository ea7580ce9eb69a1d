// SPDX-License-Identifier: Apache-2.0
// One job's history as it is read: bytes to spans, whatever its form.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "plugins/sources/hadoop/avro.h"
#include "plugins/sources/hadoop/inflater.h"
#include "plugins/sources/hadoop/jhist_reader.h"
#include "plugins/sources/hadoop/mapreduce_model.h"
#include "plugins/sources/hadoop/spark_model.h"

namespace atalaya::hadoop {

inline constexpr size_t kMaxLine = size_t{32} << 20;  // a longer line is passed over
inline constexpr size_t kMaxSchema = size_t{1} << 20;

struct Rules {
  Topology topology;
  Facts facts;
};

class History {
 public:
  enum class Form { unknown, jhist, jhist_binary, old_text, spark, none };

  // name: of the file or folder, without what tells its state or codec: the job's id where the text has none.
  History(const Rules &rules, std::string_view name);

  // Whether the spans so far have been taken and more is wanted.
  using Between = std::function<bool()>;
  // The next bytes. What they complete is appended, in the order of the text; as few bytes may become many spans, `between` is
  // called where they do. False: it wants no more, and nothing may follow.
  bool feed(
      std::string_view bytes, Spans &out, const Between &between = [] { return true; });
  // The file's end, for now: a last line without a line end is taken if it is complete.
  void end_of_file(Spans &out);
  // The next file of a log in several parts; numbers rise.
  void next_part(uint64_t number);
  // What goes on and was not told yet.
  void open(Spans &out);

  Form form() const { return form_; }  // none: this is no history
  Position position() const { return {part_, position_}; }
  bool ended() const;                      // the job has
  bool broken() const { return broken_; }  // nothing more of this part can be read
  size_t waiting() const;                  // bytes behind the last complete line
  const std::string &job() const;
  // What tells this history from others and stays the same when its file moves: empty until its job is known.
  const std::string &key() const { return key_; }
  const Damage &damage() const { return damage_; }

 private:
  bool inflate(std::string_view bytes, Spans &out, const Between &between);
  bool take_piece(std::string_view text, Spans &out, const Between &between);
  void take_text(Spans &out);
  bool detect();
  size_t next_size(std::string_view text) const;
  void take_line(std::string_view line, Spans &out);
  void take_values(Spans &out);
  void take_event(const Event &event, Spans &out, std::string &why);
  void read_schema(std::string_view json);
  void skip_line();
  void broke(std::string_view why);
  void note_key();
  void place(Spans &spans, size_t from) const;
  void damaged(std::string_view why);

  const Rules &rules_;
  Form form_ = Form::unknown;
  std::unique_ptr<Inflater> inflater_;
  std::string raw_;      // the first bytes, until the codec is known
  std::string text_;     // decoded, from position_ on
  std::string scratch_;  // a binary event as JSON
  uint64_t position_ = 0, lines_ = 0, part_ = 0;
  bool codec_known_ = false, broken_ = false, skipping_ = false, schema_read_ = false;
  uint64_t hash_;
  std::string key_;
  Damage damage_;
  JhistReader jhist_;
  AvroSchema schema_;
  MapReduceModel mapreduce_;
  SparkModel spark_;
};

}  // namespace atalaya::hadoop
