// SPDX-License-Identifier: Apache-2.0
// Finds the program in a command line. Pure; all returned texts point into the given text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::names {

using Words = std::vector<std::string_view>;

// The program and its arguments, from /proc/PID/cmdline. `cut`: the text may end within a word, which is omitted then. A process
// with a title in place of its arguments has one word.
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
  bool sure = true;  // false: some options are in a file that was not read, and may name another program

  // The class without its package, the jar or source file without its folder; a jar without ".jar".
  std::string_view short_name() const;
  // The name for the patterns of rules: the full class name, or the file without its folder.
  std::string_view rule_name() const { return form == Form::main_class ? main : base_name(main); }
};

// From the words of the command line that started a JVM.
std::optional<JavaProgram> java_program(const Words &command_line);
// From the command line and sun.rt.javaCommand of the JVM. The latter is the only source when the program is named in a file of
// options, and belongs to another JVM when the command line has no such word.
std::optional<JavaProgram> java_program(std::string_view java_command, const Words &command_line);

// The options of an interpreter. A letter may be combined with others ("-xc"), a long option may be followed by '='.
struct InterpreterOptions {
  std::vector<std::string> code;      // runs text instead of a file
  std::vector<std::string> script;    // the script is its value
  std::vector<std::string> value;     // has a value, in the same word or the next
  std::vector<std::string> attached;  // the rest of the word is its value
};
// The base name of the script, or the module, that an interpreter runs; empty if none.
std::string_view script_of(const Words &command_line, const InterpreterOptions &options);

}  // namespace atalaya::names
