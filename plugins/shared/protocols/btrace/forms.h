// SPDX-License-Identifier: Apache-2.0
// Parses the output of BTrace's print functions: numbers, maps, fields, arrays, aggregations, snapshots, errors.
// Source: BTraceUtils and the commands of org.openjdk.btrace.core.comm, BTrace 1.3 to 2.2.
//   number        NAME = 5
//   map           NAME, then KEY = 5 a line
//   aggregation   NAME, then rows "  KEY   5"; of a distribution "  KEY", a head and rows "\tBUCKET |@@@  COUNT"
//   snapshot      NAME, then "  Block  Invocations  SelfTime.Total ..." and rows of the same columns; both indented or not
//   fields        {count=3, name=x, }        array   [3, 5, ]
//   error         ! ERROR, then the lines of a stack trace
//   message       HH:mm:ss:SSS : TEXT
// Texts are not stored. The name of a snapshot is ignored: its blocks have their own names.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/btrace/record.h"

namespace atalaya::btrace {

struct FormCounts {
  int64_t plain = 0;      // unknown texts
  int64_t errors = 0;     // "! ERROR"
  int64_t dropped = 0;    // N of "Dropped N commands"
  int64_t overflows = 0;  // "speculative buffer overflow"
};

// Reads the lines of one file. Its state can be saved for a restart.
class Forms {
 public:
  // `message`: the line had BTrace's time prefix, so it is a message and not part of a map or table.
  void take(std::string_view line, int64_t time_ns, bool message, FormCounts &counts, const Output &out);
  // Ends a map or table before a line of another kind.
  void interrupt(FormCounts &counts);

  bool idle() const { return state_ == State::none; }
  std::string line() const;  // the state as one line
  core::Status restore(std::string_view line);

 private:
  enum class State { none, heading, map, table, snapshot, error };

  bool continue_form(std::string_view line, const Output &out);
  void begin(std::string_view line, bool message, FormCounts &counts, const Output &out);
  bool entry(std::string_view line, const Output &out);
  void row(std::string_view line, const Output &out);
  bool distribution(std::string_view line, const Output &out);
  bool snapshot_row(std::string_view line, const Output &out);
  bool fields(std::string_view line, const Output &out);
  bool array(std::string_view line, const Output &out);
  std::string_view metric(std::string_view name);
  void emit(std::string_view name, Number number, const Output &out);

  State state_ = State::none;
  std::string heading_;  // name of the heading, map or table
  std::string key_;      // table: key of the row whose distribution follows
  Record record_;
  std::string name_;
  int64_t time_ns_ = 0;
};

}  // namespace atalaya::btrace
