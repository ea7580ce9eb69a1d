// SPDX-License-Identifier: Apache-2.0
// How programs are called: what operators write, made ready, and applied to a command line. Pure; after `make` only read, so that
// several threads may use one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/match/matcher.h"
#include "core/base/result.h"
#include "plugins/translators/names/command_line.h"

namespace atalaya::names {

// One rule as it is written. It is for JVMs (`main`) or for an interpreter.
struct RuleText {
  std::vector<std::string> main;                // patterns: the main class, or the file of a jar or source
  std::vector<std::string> arguments;           // patterns: the arguments with blanks between them
  std::map<std::string, std::string> option;    // values to find: name -> the option before it, "--executor-id"
  std::map<std::string, std::string> argument;  // name -> pattern: the first argument that fits and is no option's
  std::string name;                             // of the process; "{x}" is the value x, "{2}" the second argument,
                                                // "{x:last}" behind its last '.', "{x:file}" behind its last '/'
  std::map<std::string, std::string> tags;      // tag -> text like `name`
  std::vector<std::string> interpreter;         // patterns: the program's name
  InterpreterOptions options;
};

// What a process is called.
struct Naming {
  struct Tag {
    uint32_t tag;  // which of Rules::tags
    std::string value;
  };
  std::string process;  // empty: as the kernel calls it
  std::vector<Tag> tags;
};

class Rules {
 public:
  static core::Result<Rules> make(const std::vector<RuleText> &texts);

  // Of what kind a program is, by the kernel's name of its process.
  enum class Kind : uint8_t { other, jvm, interpreter };
  Kind kind_of(std::string_view process) const;

  Naming name_jvm(const JavaProgram &program) const;
  Naming name_script(const Words &command_line) const;
  // The tags that rules add.
  const std::vector<std::string> &tags() const { return tags_; }

  // Longer names are taken for garbage: the process keeps the kernel's.
  static constexpr size_t kLongestName = 255;

 private:
  struct Piece {
    std::string text;     // as it is, before the value
    std::string value;    // name of the value; empty: none
    size_t position = 0;  // of the argument that is the value; 0: none
    enum class Part { whole, last, file } part = Part::whole;
  };
  using Template = std::vector<Piece>;
  struct Argument {
    std::string name;
    core::Matcher pattern;
  };
  struct JvmRule {
    core::MatcherList main, arguments;
    std::map<std::string, std::string> option;
    std::vector<Argument> argument;
    Template name;
    std::vector<std::pair<uint32_t, Template>> tags;
  };
  struct Interpreter {
    core::MatcherList names;
    InterpreterOptions options;
  };

  // What a pattern of an interpreter begins with.
  struct Candidate {
    std::string begin;
    bool whole = false;  // nothing follows
    uint16_t interpreter = 0;
  };

  core::Status add(const RuleText &text);
  core::Status add_jvm(const RuleText &text);
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
  // By the first byte of a name: the patterns that may fit. Most processes are told from interpreters by this byte, as every
  // process of every window is.
  std::array<std::vector<Candidate>, 256> by_first_byte_;
  std::vector<std::string> tags_;
};

}  // namespace atalaya::names
