// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/rules.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::testing {

using namespace names;

namespace {

// The name, and the tags behind it.
std::string named(const Rules &rules, std::string_view java_command) {
  const Naming naming = rules.name_jvm(java_program(java_command, {}).value());
  std::string text = naming.process;
  for (const Naming::Tag &tag : naming.tags) text += " " + rules.tags()[tag.tag] + "=" + tag.value;
  return text;
}

Rules made(const std::vector<RuleText> &texts) {
  auto rules = Rules::make(texts);
  REQUIRE_MESSAGE(rules.ok(), (rules.ok() ? "" : rules.error()));
  return std::move(*rules);
}

std::string refusal(const RuleText &text) {
  const auto rules = Rules::make({text});
  return rules.ok() ? "" : rules.error();
}

RuleText jvm(std::string main, std::string name) {
  RuleText text;
  text.main = {std::move(main)};
  text.name = std::move(name);
  return text;
}

}  // namespace

TEST_CASE("the first rule that applies names a JVM, else its class") {
  const Rules rules = made({jvm("com.x.*", "x"), jvm("com.*", "com"), jvm("~^tool[.]jar$", "tool")});
  CHECK(named(rules, "com.x.Main a") == "x");
  CHECK(named(rules, "com.y.Main") == "com");
  CHECK(named(rules, "/opt/tool.jar") == "tool");
  CHECK(named(rules, "org.z.Main") == "Main");
  CHECK(named(rules, "/opt/other.jar") == "other");
}

TEST_CASE("values of a rule come from options, arguments and places") {
  RuleText text = jvm("a.B", "{id} of {2:file}");
  text.option = {{"id", "--id"}};
  text.argument = {{"try", "try_*"}};
  text.tags = {{"id", "{id}"}, {"attempt", "{try}"}, {"class", "{id:last}"}};
  const Rules rules = made({text});
  CHECK(named(rules, "a.B try_7 /x/y.z --id com.q") == "com.q of y.z attempt=try_7 class=q id=com.q");
  CHECK(named(rules, "a.B --id=3 /b") == "3 of b class=3 id=3");
  CHECK(named(rules, "a.B x --id") == "B");                                     // no value: the rule does not apply
  CHECK(named(rules, "a.B x --id 3 --not try_1") == "3 of --id class=3 id=3");  // the value of an option is no argument
}

TEST_CASE("a rule may require certain arguments") {
  RuleText text = jvm("a.B", "server");
  text.arguments = {"*--mode server*", "!*--dry-run*"};
  const Rules rules = made({text});
  CHECK(named(rules, "a.B --mode server") == "server");
  CHECK(named(rules, "a.B --mode client") == "B");
  CHECK(named(rules, "a.B --mode server --dry-run") == "B");
}

TEST_CASE("a name that is too long is none") {
  const std::string longest(Rules::kMaxNameLength, 'x');
  CHECK(named(made({}), longest) == longest);
  CHECK(named(made({}), longest + "x").empty());
  RuleText text = jvm("a.B", "{1}");
  CHECK(named(made({text}), "a.B " + longest + "x") == "B");
}

TEST_CASE("kinds of programs are detected by the kernel's name") {
  RuleText python, any;
  python.interpreter = {"python", "python[0-9]*"};
  any.interpreter = {"*sh", "!push"};
  const Rules rules = made({python, any});
  CHECK(rules.kind_of("java") == Rules::Kind::jvm);
  CHECK(rules.kind_of("javac") == Rules::Kind::other);
  CHECK(rules.kind_of("python3.11") == Rules::Kind::interpreter);
  CHECK(rules.kind_of("pythonic") == Rules::Kind::other);
  CHECK(rules.kind_of("zsh") == Rules::Kind::interpreter);
  CHECK(rules.kind_of("push") == Rules::Kind::other);
  CHECK(rules.kind_of("") == Rules::Kind::other);
}

TEST_CASE("a script is named only where the command line is that of an interpreter") {
  RuleText shell;
  shell.interpreter = {"bash", "sh"};
  shell.options.code = {"-c"};
  const Rules rules = made({shell});
  CHECK(rules.name_script({"/bin/sh", "/opt/run.sh"}).process == "run.sh");
  CHECK(rules.name_script({"-bash", "/opt/run.sh"}).process == "run.sh");
  CHECK(rules.name_script({"-bash"}).process.empty());
  CHECK(rules.name_script({"worker 3", "of 4"}).process.empty());
  CHECK(rules.name_script({}).process.empty());
}

TEST_CASE("rules that cannot work are refused with the fix") {
  CHECK(refusal({}) == "rule 1: set either \"main\", for JVMs, or \"interpreter\"");
  CHECK(refusal(jvm("a.B", "x {")) == "rule 1: name: \"x {\" has a { without a }");
  CHECK(refusal(jvm("a.B", "{id}")) ==
        "rule 1: name: unknown value \"id\"; name it in \"option\" or \"argument\", or write the number of an argument");
  CHECK(refusal(jvm("a.B", "{0}")).find("unknown value \"0\"") != std::string::npos);
  CHECK(refusal(jvm("~(", "x")).find("rule 1: main: ") == 0);
  RuleText both = jvm("a.B", "x");
  both.interpreter = {"sh"};
  CHECK_FALSE(refusal(both).empty());
  RuleText tag = jvm("a.B", "x");
  tag.tags = {{"t", "{y:last}"}};
  CHECK(refusal(tag).find("rule 1: tags.t: unknown value \"y\"") == 0);
  RuleText inherit = jvm("a.B", "x");
  inherit.inherit = {"job"};
  CHECK(refusal(inherit) == "rule 1: inherit: \"job\" is not in \"tags\" of the rule");
}

}  // namespace atalaya::testing
