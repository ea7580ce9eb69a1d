// SPDX-License-Identifier: Apache-2.0
// Rules that name programs: parsed from the configuration and applied to a command line. An object is immutable after `make`, so
// several threads may use it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/translators/names/command_line.h"

namespace atalaya::names {

// One rule of the configuration, for JVMs (`main`) or for an interpreter.
struct RuleText {
  std::vector<std::string> main;                // patterns: the main class, or the file of a jar or source
  std::vector<std::string> arguments;           // patterns: the arguments joined by blanks
  std::map<std::string, std::string> option;    // name of a value -> the option that it follows, such as "--executor-id"
  std::map<std::string, std::string> argument;  // name of a value -> pattern of the first matching argument of no option
  std::string name;                             // template of the process name: "{x}" is the value x, "{2}" the second argument,
                                                // "{x:last}" the part of x after the last '.', "{x:file}" after the last '/'
  std::map<std::string, std::string> tags;      // tag -> template like `name`
  std::vector<std::string> inherit;             // those of `tags` that the descendants of the process get, too
  std::vector<std::string> interpreter;         // patterns: the program's name
  InterpreterOptions options;
};

// The derived name and tags of a process.
struct Naming {
  struct Tag {
    uint32_t tag;  // index in Rules::tags
    std::string value;
    bool inherited = false;  // descendants of the process get it, too
  };
  std::string process;  // empty: the process keeps the kernel's name
  std::vector<Tag> tags;
};

class Rules {
 public:
  static core::Result<Rules> make(const std::vector<RuleText> &texts);

  // The kind of a program, by the kernel's name of its process.
  enum class Kind : uint8_t { other, jvm, interpreter };
  Kind kind_of(std::string_view process) const;

  Naming name_jvm(const JavaProgram &program) const;
  Naming name_script(const Words &command_line) const;
  // The tags that rules add.
  const std::vector<std::string> &tags() const { return tags_; }
  // Whether descendants of any process get tags.
  bool any_inherited() const { return any_inherited_; }

  // Longer names are rejected: the process keeps the kernel's name.
  static constexpr size_t kMaxNameLength = 255;

 private:
  struct Piece {
    std::string text;     // literal text before the value
    std::string value;    // name of the value; empty: none
    size_t position = 0;  // position of the argument that is the value; 0: none
    enum class Part { whole, last, file } part = Part::whole;
  };
  using Template = std::vector<Piece>;
  struct Argument {
    std::string name;
    io::Matcher pattern;
  };
  struct RuleTag {
    uint32_t tag;
    Template value;
    bool inherited;
  };
  struct JvmRule {
    io::MatcherList main, arguments;
    std::map<std::string, std::string> option;
    std::vector<Argument> argument;
    Template name;
    std::vector<RuleTag> tags;
  };
  struct Interpreter {
    io::MatcherList names;
    InterpreterOptions options;
  };

  // A pattern of an interpreter, reduced to its literal prefix.
  struct Candidate {
    std::string begin;
    bool whole = false;  // the pattern has no wildcard: the prefix is the complete name
    uint16_t interpreter = 0;
  };

  core::Status add(const RuleText &text);
  core::Status add_jvm(const RuleText &text);
  core::Status add_tags(const RuleText &text, JvmRule &rule);
  core::Status add_interpreter(const RuleText &text);
  void add_candidate(std::string_view pattern, uint16_t interpreter);
  uint32_t tag_number(const std::string &tag);
  const Interpreter *interpreter_named(std::string_view name) const;

  static core::Result<Template> parse_template(const RuleText &rule, std::string_view text);
  static core::Result<Piece> parse_value(const RuleText &rule, std::string_view text);
  static std::optional<std::string_view> value_of(const JvmRule &rule, const Piece &piece, const JavaProgram &program);
  static std::optional<std::string> fill(const JvmRule &rule, const Template &pieces, const JavaProgram &program);
  static std::optional<Naming> apply(const JvmRule &rule, const JavaProgram &program);

  std::vector<JvmRule> jvm_rules_;
  std::vector<Interpreter> interpreters_;
  // The patterns that may match, by the first byte of the name. Each window checks all processes, and this byte excludes most.
  std::array<std::vector<Candidate>, 256> by_first_byte_;
  std::vector<std::string> tags_;
  bool any_inherited_ = false;
};

}  // namespace atalaya::names
