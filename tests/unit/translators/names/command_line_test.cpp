// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/command_line.h"

#include <doctest/doctest.h>

#include <string>

namespace atalaya::testing {

using namespace names;

namespace {

// The name that a JVM's command line leads to; words between blanks.
std::string java(std::string_view text) {
  std::string zeros(text);
  for (char &c : zeros)
    if (c == ' ') c = '\0';
  const Words words = words_of(zeros);
  const auto program = java_program(words);
  return program ? std::string(program->short_name()) + (program->sure ? "" : "?") : "-";
}

std::string described(const std::optional<JavaProgram> &program) {
  if (!program) return "-";
  std::string text(program->short_name());
  for (const std::string_view argument : program->arguments) text += "|" + std::string(argument);
  return text;
}

std::string script(const Words &words, const InterpreterOptions &options) {
  return std::string(script_of(words, options));
}

const InterpreterOptions kPython = {
    .code = {"-c"}, .script = {"-m"}, .value = {"-W", "-X", "--check-hash-based-pycs"}, .attached = {}};
const InterpreterOptions kPerl = {.code = {"-e", "-E"}, .script = {}, .value = {"-I"}, .attached = {"-i", "-M"}};
const InterpreterOptions kShell = {.code = {"-c", "-s"}, .script = {}, .value = {"-o", "+o", "--rcfile"}, .attached = {}};
const InterpreterOptions kPhp = {.code = {"-r"}, .script = {"-f", "--file"}, .value = {"-d", "-c"}, .attached = {}};

}  // namespace

TEST_CASE("a command line is its words, as they are") {
  using namespace std::string_view_literals;
  CHECK(words_of("java\0-jar\0/opt/my app/x y.jar\0"sv) == Words{"java", "-jar", "/opt/my app/x y.jar"});
  CHECK(words_of("a\0\0b\0"sv) == Words{"a", "", "b"});
  CHECK(words_of("").empty());
  CHECK(words_of("a\0b\0half"sv) == Words{"a", "b", "half"});
  CHECK(words_of("a\0b\0half"sv, true) == Words{"a", "b"});
  // A title over the arguments: one word, and zeros up to where they ended.
  CHECK(words_of("gunicorn: worker [x]\0\0\0\0\0"sv) == Words{"gunicorn: worker [x]"});
}

TEST_CASE("the program of a JVM is behind the options and their values") {
  CHECK(java("java org.apache.hadoop.hdfs.server.namenode.NameNode") == "NameNode");
  CHECK(java("java -Xmx1g -XX:+UseG1GC -Dproc_namenode -cp /a:/b/* com.x.Main$Inner arg") == "Main$Inner");
  CHECK(java("java -classpath /a --add-opens java.base/java.lang=ALL-UNNAMED --add-modules=ALL-SYSTEM a.B") == "B");
  CHECK(java("java --class-path /a -p /m --module-path /m --upgrade-module-path /u --patch-module a=b --add-exports x/y=z a.B") ==
        "B");
  CHECK(java("java -jar /opt/app-1.2.jar -cp nonsense") == "app-1.2");
  CHECK(java("java -m org.elasticsearch.server/org.elasticsearch.bootstrap.Elasticsearch") == "Elasticsearch");
  CHECK(java("java --module=a.b/c.D") == "D");
  CHECK(java("java --module jdk.httpserver") == "httpserver");
  CHECK(java("java --source 17 src/Hello.java x") == "Hello.java");
  CHECK(java("java Nameless") == "Nameless");
  CHECK(java("java @jvm.options com.x.Main") == "Main?");
  CHECK(java("java @jvm.options -jar app.jar x") == "app?");
  CHECK(java("java com.x.Main @file") == "Main");
  CHECK(java("jsvc -home /jvm -user hdfs -pidfile /run/x -cp /a org.apache.hadoop.hdfs.server.datanode.SecureDataNodeStarter") ==
        "SecureDataNodeStarter");
  for (const char *none : {"java", "java -version", "java -jar", "java -m", "java -cp", "java -cp /a", "java @all",
                           "java @all argument", "java @all a.txt", ""})
    CHECK(java(none) == "-");
}

TEST_CASE("the word that a JVM reports shows which word of the command line is its program") {
  const auto both = [](std::string_view said, const Words &words) { return described(java_program(said, words)); };
  CHECK(both("kafka.Kafka a b", {"java", "-cp", "/x", "kafka.Kafka", "a", "b"}) == "Kafka|a|b");
  CHECK(both("/opt/my app/an x.jar a b", {"java", "-jar", "/opt/my app/an x.jar", "a b"}) == "an x|a b");
  CHECK(both("x.jar -jar x.jar", {"java", "-cp", "x.jar", "-jar", "x.jar", "-jar", "x.jar"}) == "x|-jar|x.jar");
  CHECK(both("m/a.B c", {"java", "-m", "m/a.B", "c"}) == "B|c");
  CHECK(both("m/a.B c", {"java", "--module=m/a.B", "c"}) == "B|c");
  CHECK(both("jdk.compiler/com.sun.tools.javac.launcher.Main src/Hello.java a", {"java", "src/Hello.java", "a"}) == "Hello.java|a");
  CHECK(both("a.B c  d", {"java", "--unknown-option", "value", "a.B", "c", "", "d"}) == "B|c||d");
  const std::string longest(2000, 'x');
  CHECK(both(("a.B " + longest).substr(0, 1023), {"java", "a.B", longest, "d"}) == "B|" + longest + "|d");
}

TEST_CASE("the word that a JVM reports is used alone if the options are in a file") {
  const auto alone = [](std::string_view said) { return described(java_program(said, {"java", "@all", "y"})); };
  CHECK(alone("a.B x y") == "B|x|y");
  CHECK(alone("m/a.B x") == "B|x");
  CHECK(alone("/opt/x.jar y") == "x|y");
  CHECK(alone("/opt/my app/x.jar y") == "-");
  CHECK(alone("a.B y " + std::string(1017, 'x')) == "B|y");  // the last one may be cut
  CHECK(described(java_program("a.B x", {"a title"})) == "B|x");
  CHECK(described(java_program("a.B x", {})) == "B|x");
}

TEST_CASE("another JVM's word does not count") {
  CHECK(described(java_program("other.One x", {"java", "a.B", "x"})) == "B|x");
  CHECK(described(java_program("a.B x", {"java", "a.B", "y"})) == "B|y");
  CHECK(described(java_program("", {"java", "a.B", "y"})) == "B|y");
  CHECK(described(java_program("", {"java", "@options", "a.B", "y"})) == "B|y");
  CHECK(described(java_program("", {"java", "@all", "y"})) == "-");
  CHECK(described(java_program("other.One x", {"java", "-version"})) == "-");
}

TEST_CASE("an interpreter's script is its first argument that is no option") {
  CHECK(script({"python3", "/opt/x/job.py", "-c", "x"}, kPython) == "job.py");
  CHECK(script({"python3", "-u", "-W", "ignore", "-Wonce", "-Xdev", "a b.py"}, kPython) == "a b.py");
  CHECK(script({"python3", "-m", "http.server", "8000"}, kPython) == "http.server");
  CHECK(script({"python3", "-um", "pkg.tool"}, kPython) == "pkg.tool");
  CHECK(script({"python3", "-Ic", "import x", "y"}, kPython).empty());
  CHECK(script({"python3", "--check-hash-based-pycs", "always", "x.py"}, kPython) == "x.py");
  CHECK(script({"python3", "--", "-odd.py"}, kPython) == "-odd.py");
  CHECK(script({"python3", "-", "x"}, kPython).empty());
  CHECK(script({"python3"}, kPython).empty());
  CHECK(script({"python3", "-m"}, kPython).empty());
  CHECK(script({"perl", "-w", "-I", "/lib", "-I/lib", "-MCarp", "-i.save", "x.pl"}, kPerl) == "x.pl");
  CHECK(script({"perl", "-lane", "print", "file"}, kPerl).empty());
  CHECK(script({"perl", "-ne", "print", "file"}, kPerl).empty());
  CHECK(script({"bash", "-eu", "-o", "pipefail", "+x", "/usr/bin/odd name\n\"q\".sh"}, kShell) == "odd name\n\"q\".sh");
  CHECK(script({"bash", "-euo", "pipefail", "run.sh"}, kShell) == "run.sh");
  CHECK(script({"sh", "-c", "sleep 1; ls"}, kShell).empty());
  CHECK(script({"bash", "-s", "argument"}, kShell).empty());
  CHECK(script({"bash", "--rcfile", "x", "--posix", "y"}, kShell) == "y");
  CHECK(script({"php", "-d", "a=b", "--file=/srv/x.php"}, kPhp) == "x.php");
  CHECK(script({"php", "-f", "/srv/y.php"}, kPhp) == "y.php");
  CHECK(script({"php", "-f/srv/z.php"}, kPhp) == "z.php");
}

}  // namespace atalaya::testing
