// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/command_line.h"

#include <algorithm>
#include <array>

#include "core/base/text/text.h"

namespace atalaya::names {
namespace {

// The options of java (and of jsvc, which starts a JVM as a service) whose value is the next word.
constexpr std::array<std::string_view, 27> kJavaOptionsWithValue = {"-cp",
                                                                    "-classpath",
                                                                    "--class-path",
                                                                    "-p",
                                                                    "--module-path",
                                                                    "--upgrade-module-path",
                                                                    "--add-modules",
                                                                    "--add-reads",
                                                                    "--add-exports",
                                                                    "--add-opens",
                                                                    "--limit-modules",
                                                                    "--patch-module",
                                                                    "--source",
                                                                    "--enable-native-access",
                                                                    "-d",
                                                                    "--describe-module",
                                                                    "-java-home",
                                                                    "-home",
                                                                    "-jvm",
                                                                    "-user",
                                                                    "-pidfile",
                                                                    "-outfile",
                                                                    "-errfile",
                                                                    "-procname",
                                                                    "-wait",
                                                                    "-umask",
                                                                    "-cwd"};

constexpr std::string_view kSourceLauncher = "jdk.compiler/com.sun.tools.javac.launcher.";

// Maximum length of sun.rt.javaCommand.
constexpr size_t kJavaCommandCut = 1023;

bool has_value(std::string_view option) {
  return std::find(kJavaOptionsWithValue.begin(), kJavaOptionsWithValue.end(), option) != kJavaOptionsWithValue.end();
}

std::string_view without_module(std::string_view main) {
  return main.substr(main.find('/') + 1);
}

constexpr std::string_view kModule = "--module=";

// The word after "--module=", other words unchanged.
std::string_view without_option(std::string_view word) {
  return word.starts_with(kModule) ? word.substr(kModule.size()) : word;
}

JavaProgram program_named(std::string_view main) {
  JavaProgram program;
  program.form = main.ends_with(".java") ? JavaProgram::Form::source : JavaProgram::Form::main_class;
  program.main = main;
  return program;
}

// Parses the program at the word `at`, and sets `at` to its last word. Nothing if the word is an option.
std::optional<JavaProgram> program_at(const Words &words, size_t &at) {
  const std::string_view word = words[at];
  if (word.starts_with(kModule)) return program_named(without_module(without_option(word)));
  if (word == "-jar" || word == "-m" || word == "--module") {
    if (++at == words.size()) return std::nullopt;
    if (word != "-jar") return program_named(without_module(words[at]));
    JavaProgram program;
    program.form = JavaProgram::Form::jar;
    program.main = words[at];
    return program;
  }
  if (has_value(word)) ++at;
  if (word.empty() || word.front() == '-' || word.front() == '@') return std::nullopt;
  return program_named(word);
}

// Whether the name looks like a class in a package: most main classes do, but few arguments.
bool looks_like_class(std::string_view word) {
  const size_t dot = word.rfind('.');
  return dot != std::string_view::npos && dot + 1 < word.size() && word[dot + 1] >= 'A' && word[dot + 1] <= 'Z';
}

// Whether the text equals the words joined by blanks, up to the maximum length.
bool says(std::string_view text, std::span<const std::string_view> words) {
  const bool cut = text.size() >= kJavaCommandCut;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && (text.empty() || text.front() != ' ')) return text.empty() && cut;
    if (i > 0) text.remove_prefix(1);
    const std::string_view word = i == 0 ? without_option(words[i]) : words[i];
    if (!text.starts_with(word)) return cut && word.starts_with(text);
    text.remove_prefix(word.size());
  }
  return text.empty();
}

// The word that the JVM reports as its program (source, jar or class).
JavaProgram program_said(std::string_view main, bool source) {
  const bool jar = main.ends_with(".jar");
  JavaProgram program;
  program.form = source ? JavaProgram::Form::source : jar ? JavaProgram::Form::jar : JavaProgram::Form::main_class;
  program.main = source || jar ? main : without_module(main);
  return program;
}

// The program from java_command alone. Nothing if its first word may be the start of a path with blanks.
std::optional<JavaProgram> program_alone(std::string_view java_command, bool source) {
  const bool cut = java_command.size() >= kJavaCommandCut;
  const std::string_view main = core::cut_at(java_command, ' ');
  JavaProgram program = program_said(main, source);
  const bool path = main.starts_with('/') || main.starts_with('.');
  if (program.form == JavaProgram::Form::main_class && path) return std::nullopt;
  while (!java_command.empty()) program.arguments.push_back(core::cut_at(java_command, ' '));
  if (cut && !program.arguments.empty()) program.arguments.pop_back();
  return program;
}

bool holds(const std::vector<std::string> &options, std::string_view option) {
  return std::find(options.begin(), options.end(), option) != options.end();
}

// Parses the command line of an interpreter up to its script.
class ScriptFinder {
 public:
  ScriptFinder(const Words &words, const InterpreterOptions &options) : words_(words), options_(options) {}

  std::string_view find() {
    for (at_ = 1; at_ < words_.size() && !found_; ++at_) take(words_[at_]);
    return script_;
  }

 private:
  void take(std::string_view word) {
    if (word.empty() || (word.front() != '-' && word.front() != '+')) return end_with(word);
    if (word == "-") return end_with({});  // standard input
    if (word == "--") return end_with(next());
    const size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const std::string_view option = word.substr(0, equals);
    const bool alone = equals == std::string_view::npos;
    if (holds(options_.code, option)) return end_with({});
    if (holds(options_.script, option)) return end_with(alone ? next() : word.substr(equals + 1));
    if (holds(options_.value, option)) {
      if (alone) ++at_;
    } else if (!word.starts_with("--")) {
      parse_letters(word);
    }
  }

  // Combined options of one letter each.
  void parse_letters(std::string_view word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const char option[] = {word.front(), word[i]};
      const std::string_view letter(option, sizeof(option));
      const std::string_view rest = word.substr(i + 1);
      if (holds(options_.code, letter)) return end_with({});
      if (holds(options_.script, letter)) return end_with(rest.empty() ? next() : rest);
      if (holds(options_.attached, letter)) return;
      if (!holds(options_.value, letter)) continue;
      if (rest.empty()) ++at_;
      return;
    }
  }

  std::string_view next() const { return at_ + 1 < words_.size() ? words_[at_ + 1] : std::string_view(); }
  void end_with(std::string_view script) {
    script_ = base_name(script);
    found_ = true;
  }

  const Words &words_;
  const InterpreterOptions &options_;
  size_t at_ = 1;
  std::string_view script_;
  bool found_ = false;
};

}  // namespace

Words words_of(std::string_view command_line, bool cut) {
  Words words;
  while (!command_line.empty()) {
    const bool last = command_line.find('\0') == std::string_view::npos;
    const std::string_view word = core::cut_at(command_line, '\0');
    if (!last || !cut) words.push_back(word);
  }
  // A process that overwrote its arguments with a title has zeros after it.
  if (words.size() > 1 && std::all_of(words.begin() + 1, words.end(), [](std::string_view word) { return word.empty(); }))
    words.resize(1);
  return words;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.find_last_of("./") + 1);
}

std::string_view JavaProgram::short_name() const {
  if (form == Form::main_class) return last_part(main);
  std::string_view file = base_name(main);
  if (form == Form::jar && file.size() > 4 && file.ends_with(".jar")) file.remove_suffix(4);
  return file;
}

std::optional<JavaProgram> java_program(const Words &command_line) {
  bool sure = true;
  for (size_t at = 1; at < command_line.size(); ++at) {
    sure = sure && !command_line[at].starts_with('@');
    auto program = program_at(command_line, at);
    if (!program) continue;
    if (!sure && program->form == JavaProgram::Form::main_class && !looks_like_class(program->main)) return std::nullopt;
    program->arguments.assign(command_line.begin() + static_cast<ptrdiff_t>(at) + 1, command_line.end());
    program->sure = sure;
    return program;
  }
  return std::nullopt;
}

std::optional<JavaProgram> java_program(std::string_view java_command, const Words &command_line) {
  // For source files the JVM names its launcher class, then the file.
  const bool source = java_command.starts_with(kSourceLauncher);
  if (source) core::cut_at(java_command, ' ');
  if (java_command.empty()) return java_program(command_line);
  for (size_t at = 1; at < command_line.size(); ++at) {
    const auto words = std::span(command_line).subspan(at);
    if (!says(java_command, words)) continue;
    JavaProgram program = program_said(without_option(words.front()), source);
    program.arguments.assign(words.begin() + 1, words.end());
    return program;
  }
  const bool from_file =
      std::any_of(command_line.begin(), command_line.end(), [](std::string_view word) { return word.starts_with('@'); });
  return from_file || command_line.size() < 2 ? program_alone(java_command, source) : java_program(command_line);
}

std::string_view script_of(const Words &command_line, const InterpreterOptions &options) {
  return ScriptFinder(command_line, options).find();
}

}  // namespace atalaya::names
