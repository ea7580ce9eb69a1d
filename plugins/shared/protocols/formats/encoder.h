// SPDX-License-Identifier: Apache-2.0
// The text formats of sinks, by name.
#pragma once

#include <atalaya/plugin.h>

#include <memory>
#include <string_view>

#include "core/base/encode/line_encoder.h"
#include "plugins/shared/protocols/opentsdb/opentsdb_encoder.h"

namespace atalaya::protocols {

enum class Format {
  // One point per line, real numbers, times in ms:
  //   {"metric":"proc.cpu.user","timestamp":1795219532000,"value":99.4,"tags":{"host":"vm","pid":"8860","process":"java"}}
  // A stack, time in s, further tags only if there are any:
  //   {"timestamp":1495813324,"hostname":"hadoop0","stack":"java-18714;start_thread","value":6,"tags":{"profile":"cpu"}}
  // A span, "end" absent while it is open:
  //   {"span":"map","start":1795219532000,"end":1795219538000,"tags":{"job":"j1"},"fields":{}}
  jsonlines,
  // One sample per line without loss: times in ns, doubles always with '.' or 'e' (integers never), NaN and infinities as
  // strings.
  //   {"kind":"metrics","time":1795219532000000000,"duration":5000000000,"tags":{"pid":"1"},"fields":{"proc.threads":3}}
  samples,
  // The format of BDWatchdog, with values as strings (stacks: its four members; CPU stacks only):
  //   {"metric": "proc.cpu.user", "timestamp": "1795219532", "value": "99.40", "tags": {"host": "vm", "command": "java"}}
  bdwatchdog,
  // time,metric,value,host,pid,process,tags: RFC 4180, time in ms, further tags as k=v;k=v with \ before ; = and \ in them.
  csv,
  // As csv, with ' before tags that a spreadsheet would execute: those that start with = + - or @.
  csv_for_spreadsheets,
  // metric timestamp value tag=value ..., as in OpenTSDB's put command. Characters outside A-Z a-z 0-9 - _ . / and non-ASCII
  // letters become '_'.
  line,
  // One point per line, as elements of an array for OpenTSDB's /api/put; names and tag values made valid (opentsdb_name.h).
  //   {"metric":"proc.cpu.user","timestamp":1795219532000,"value":99.4,"tags":{"host":"vm","pid":"8860","process":"GC_20Thread_230"}}
  opentsdb,
  // InfluxDB's line protocol, times in ns: the first part of a metric's name is the measurement, the rest the field; counts are
  // integers.
  //   proc,host=vm,pid=8860,process=java cpu.user=99.4,threads=31i 1795219532000000000
  influx,
  // CPU stacks only, as documents of BDWatchdog, with its four members (see jsonlines).
  stacks,
};

std::unique_ptr<core::Encoder> make_encoder(Format format, const core::NameOf &name_of, const TagLimit &limit = {});
// The format with this name; jsonlines for an unknown name.
Format format_from_name(std::string_view name);

std::unique_ptr<core::Encoder> make_csv(const core::NameOf &name_of, bool escape_formulas);
std::unique_ptr<core::Encoder> make_line(const core::NameOf &name_of);

}  // namespace atalaya::protocols
