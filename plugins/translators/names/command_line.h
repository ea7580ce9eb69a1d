// SPDX-License-Identifier: Apache-2.0
// What a command line says of the program that runs. Pure; all texts returned lie in the text given.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::names {

using Words = std::vector<std::string_view>;

// The program and its arguments, from /proc/PID/cmdline. `cut`: the text may end within a word, which is left out then. A process
// that has written a title over its arguments shows one word.
Words words_of(std::string_view command_line, bool cut = false);

// Behind the last '/'.
std::string_view base_name(std::string_view path);
// Behind the last '.' or '/': "NodeManager" of "org.apache.hadoop.yarn.server.nodemanager.NodeManager".
std::string_view last_part(std::string_view name);

struct JavaProgram {
  enum class Form { main_class, jar, source };
  Form form = Form::main_class;
  std::string_view main;  // class without its module; path of a jar or of a source file
  Words arguments;
  bool sure = true;  // false: the options were partly in a file that has not been read, and may have named another

  // The class without its package, the jar or source file without its folder; a jar without ".jar".
  std::string_view short_name() const;
  // By what rules choose: the whole name of the class, the file without its folder.
  std::string_view rule_name() const { return form == Form::main_class ? main : base_name(main); }
};

// From the words of the command line that started a JVM.
std::optional<JavaProgram> java_program(const Words &command_line);
// From that and what the JVM says itself, sun.rt.javaCommand: which word is the program. It is all there is when the program is
// named in a file of options, and another JVM's when the command line has no such word.
std::optional<JavaProgram> java_program(std::string_view java_command, const Words &command_line);

// How an interpreter's options are to be read. A single letter may stand among others ("-xc"), a long one be followed by '='.
struct InterpreterOptions {
  std::vector<std::string> code;      // it runs text that is no file
  std::vector<std::string> script;    // the script is its value
  std::vector<std::string> value;     // it has a value, in the same word or the next
  std::vector<std::string> attached;  // the rest of the word is its value
};
// The base name of the script, or the module, that an interpreter runs; empty if none.
std::string_view script_of(const Words &command_line, const InterpreterOptions &options);

}  // namespace atalaya::names
