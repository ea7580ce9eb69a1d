// SPDX-License-Identifier: Apache-2.0
// Finds the program in a command line. Pure functions; all returned texts point into the input text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::names {

using Words = std::vector<std::string_view>;

// Splits /proc/PID/cmdline into the program and its arguments. `cut`: the text is incomplete, so its last word is omitted. If a
// process has overwritten its arguments with a title, the result is one word.
Words words_of(std::string_view command_line, bool cut = false);

// The text after the last '/'.
std::string_view base_name(std::string_view path);
// The text after the last '.' or '/': "NodeManager" of "org.apache.hadoop.yarn.server.nodemanager.NodeManager".
std::string_view last_part(std::string_view name);

struct JavaProgram {
  enum class Form { main_class, jar, source };
  Form form = Form::main_class;
  std::string_view main;  // class without its module; path of a jar or of a source file
  Words arguments;
  bool sure = true;  // false: some options are in a file that was not read; they may name another program

  // The class without its package, the jar or source file without its folder; a jar without ".jar".
  std::string_view short_name() const;
  // The name for the patterns of rules: the full class name, or the file without its folder.
  std::string_view rule_name() const { return form == Form::main_class ? main : base_name(main); }
};

// Finds the program in the command line that started a JVM.
std::optional<JavaProgram> java_program(const Words &command_line);
// Finds the program in sun.rt.javaCommand (`java_command`) and the command line of a JVM. If an option file names the program, only
// java_command has it. A java_command whose program is not a word of the command line belongs to another JVM and is ignored.
std::optional<JavaProgram> java_program(std::string_view java_command, const Words &command_line);

// The options of an interpreter, by kind. Options of one letter may be combined ("-xc"); a long option may be followed by "=VALUE".
struct InterpreterOptions {
  std::vector<std::string> code;      // the interpreter runs the value as code; there is no script
  std::vector<std::string> script;    // the value is the script
  std::vector<std::string> value;     // the value is the rest of the word, or else the next word
  std::vector<std::string> attached;  // the value is the rest of the word
};
// The base name of the script, or the name of the module, that an interpreter runs; empty if it runs neither.
std::string_view script_of(const Words &command_line, const InterpreterOptions &options);

}  // namespace atalaya::names
