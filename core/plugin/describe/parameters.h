// SPDX-License-Identifier: Apache-2.0
// The parameters of one component: the operator's values, checked against the schema and completed with its defaults.
#pragma once

#include <atalaya/plugin.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plugin/strided.h"
#include "core/plugin/value.h"

namespace atalaya::core {

// A checked value, in the units of plugin.h: durations in ns, sizes in bytes.
struct Parameter {
  std::string key;  // key of a member of a record or map
  uint32_t type = 0;
  int64_t i64 = 0;
  double f64 = 0;
  std::string text;
  std::vector<Parameter> children;

  bool operator==(const Parameter &) const = default;
};

using Schema = Strided<atalaya_param>;

// The units of parameters that are paths: a file that is written, a file that is read and must exist, a file with credentials.
// Messages never show the value of the last kind, because it might be the credentials by mistake.
constexpr std::string_view kOutputFile = "output file", kInputFile = "input file", kSecretFile = "secret file";
bool is_file(const atalaya_param &param);

class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(Parameter root) : root_(std::move(root)) {}  // the record of all parameters, already checked

  // Checks `written` (a table, or nil) against the schema and adds defaults. Appends all problems; a problem of an unknown key
  // suggests the most similar known one. Valid parameters are included even if others are invalid.
  static Parameters resolve(const Schema &schema, const Value &written, std::vector<Problem> &problems);

  // The parameter at a path: "root", "spool.dir", "rules[3].match" (indexes start at 0), "" for the record of all. Null if it is
  // missing.
  const Parameter *find(std::string_view path) const;

  bool operator==(const Parameters &) const = default;

 private:
  Parameter root_;
};

// Converts a text of the command line ("5s", "true", "a,b") to the type that the schema requires. `resolve` checks the value.
Value value_from_text(const atalaya_param &param, std::string_view text);

}  // namespace atalaya::core
