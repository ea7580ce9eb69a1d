// SPDX-License-Identifier: Apache-2.0
// Each bad plugin is refused with one exact line, and the good one next to it still works.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "core/plugin/instance.h"
#include "tests/unit/temporary_folder.h"

using namespace atalaya::core;
using atalaya::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

// Copies plugins out of the build folder, so that modes and owners are the test's own.
std::string put(const TemporaryFolder &folder, const std::string &name) {
  std::string path = folder / (name + ".so");
  fs::copy_file(std::string(ABI_PLUGINS) + "/" + name + ".so", path);
  ::chmod(path.c_str(), 0644);
  return path;
}

std::string refusal(const std::string &path) {
  const auto plugin = Plugin::open(path);
  return plugin ? "accepted" : plugin.error();
}

std::string refusal_of(const std::string &name, const TemporaryFolder &folder) {
  const std::string path = put(folder, name);
  const std::string text = refusal(path);
  return text.rfind(path + ": ", 0) == 0 ? text.substr(path.size() + 2) : text;
}

// The error of creating the only component of a plugin.
std::string creation(const std::string &name, const TemporaryFolder &folder) {
  auto registry = Registry::scan({fs::path(put(folder, name)).parent_path()});
  auto component = registry.open(ATALAYA_SOURCE, name);
  REQUIRE(component.ok());
  Symbols symbols;
  Surroundings surroundings;
  const auto made = Instance::create(*component, Parameters(), "pipeline \"x\": source \"" + name + "\"", symbols, surroundings);
  return made ? "accepted" : made.error();
}

}  // namespace

TEST_CASE("a plugin built with the released header loads and works") {
  const TemporaryFolder folder;
  put(folder, "tiny");
  auto registry = Registry::scan({folder.path()});
  CHECK(registry.refused().empty());
  auto component = registry.open(ATALAYA_SOURCE, "tiny");
  REQUIRE(component.ok());
  Symbols symbols;
  Surroundings surroundings;
  auto made = Instance::create(*component, Parameters(), "tiny", symbols, surroundings);
  REQUIRE(made.ok());
  Batch batch;
  CHECK((*made)->start().code == ATALAYA_OK);
  CHECK((*made)->collect({}, batch).code == ATALAYA_OK);
  REQUIRE(batch.count() == 1);
  CHECK(symbols.name(batch.raw().samples[0].fields[0].name) == "tiny.value");
  CHECK(batch.raw().samples[0].fields[0].value.i64 == 42);
}

TEST_CASE("versions that this host does not offer") {
  const TemporaryFolder folder;
  CHECK(refusal_of("wrong_major", folder) ==
        "built for plugin ABI 9.1, this atalaya offers 0.1; install a newer atalaya or an older wrong_major");
  CHECK(refusal_of("newer_minor", folder) ==
        "built for plugin ABI 0.9, this atalaya offers 0.1; install a newer atalaya or an older newer_minor");
  CHECK(refusal_of("other_layout", folder) ==
        "built for sample layout 2, this atalaya offers 1; install a newer atalaya or an older other_layout");
}

TEST_CASE("descriptors that are not complete") {
  const TemporaryFolder folder;
  CHECK(refusal_of("short_struct", folder) ==
        "atalaya_plugin has 16 bytes, wanted at least 64; rebuild it with this atalaya's atalaya/plugin.h");
  CHECK(refusal_of("missing_functions", folder) ==
        "source \"missing_functions\" lacks start, collect; add them to its atalaya_ops");
  CHECK(refusal_of("null_descriptor", folder) == "atalaya_plugin_v1 returned NULL; return the plugin's description");
  CHECK(refusal_of("no_symbol", folder) == "does not export atalaya_plugin_v1; define it with ATALAYA_EXPORT");
  CHECK(refusal_of("unknown_kind", folder) ==
        "a component has kind 9, this atalaya knows 1 (source) to 5 (command); install a newer atalaya");
  CHECK(refusal_of("source_name", folder) ==
        "source \"Source Name\" has a bad name; wanted lower-case letters, digits and \"_\", a letter first");
}

TEST_CASE("notes that are missing or wrong") {
  const TemporaryFolder folder;
  CHECK(refusal_of("no_note", folder) ==
        "no plugin note; a plugin says ATALAYA_NOTE (atalaya/plugin.h) or ATALAYA_PLUGIN (atalaya/plugin.hpp) once");
  CHECK(refusal_of("other_note", folder) ==
        "its note says \"other_note 2.0.0, ABI 0.1, sample layout 1\" but its code \"other_note 1.0.0, ABI 0.1, sample layout 1\"; "
        "make them equal");
}

TEST_CASE("create that fails or throws") {
  const TemporaryFolder folder;
  CHECK(creation("failing_create", folder) == "pipeline \"x\": source \"failing_create\": there is no such thing");
  CHECK(creation("throwing_create", folder) ==
        "pipeline \"x\": source \"throwing_create\": create let a C++ exception out: thrown in create; report it to the plugin's "
        "author");
}

TEST_CASE("files that are no plugins") {
  const TemporaryFolder folder;
  const std::string text = folder / "text.so";
  std::ofstream(text) << "INPUT(libfoo.so)\n";
  CHECK(refusal(text) == text + ": not an ELF shared object for this machine; build the plugin as a shared object here");
  CHECK(refusal(folder / "absent.so") == (folder / "absent.so") + ": No such file or directory; check the path");
  CHECK(refusal(folder.path()) == folder.path() + ": not a regular file; put the plugin's shared object there");
  const std::string cut = put(folder, "tiny");
  for (const uintmax_t size : {fs::file_size(cut) / 2, uintmax_t{100}}) {
    fs::resize_file(cut, size);
    CHECK(refusal(cut) == cut + ": truncated or damaged ELF file; build or copy it again");
  }
}

TEST_CASE("a file or a folder that others may change") {
  const TemporaryFolder folder;
  const std::string path = put(folder, "tiny");
  ::chmod(path.c_str(), 0664);
  CHECK(refusal(path) == path + ": writable by others than its owner (mode 0664); chmod go-w " + path);
  ::chmod(path.c_str(), 0644);
  ::chmod(folder.path().c_str(), 01777);  // the sticky bit does not help: others may add files
  CHECK(refusal(path) ==
        path + ": its folder " + folder.path() + " is writable by others than its owner (mode 1777); chmod go-w " + folder.path());
  ::chmod(folder.path().c_str(), 0700);
  CHECK(refusal(path) == "accepted");
  if (::geteuid() != 0) return;  // only root can give files away
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK(refusal(path) ==
        path + ": owned by user 65534, wanted root or the user that runs atalaya (0); chown it or install the plugin again");
}

TEST_CASE("a link is judged by the file that it leads to") {
  const TemporaryFolder folder, elsewhere;
  const std::string path = put(elsewhere, "tiny");
  fs::create_symlink(path, folder / "link.so");
  ::chmod(elsewhere.path().c_str(), 0777);
  CHECK(refusal(folder / "link.so") == (folder / "link.so") + ": its folder " + elsewhere.path() +
                                           " is writable by others than its owner (mode 0777); chmod go-w " + elsewhere.path());
}

TEST_CASE("a linked folder is judged by the one that it leads to") {
  const TemporaryFolder folder, elsewhere;
  put(elsewhere, "tiny");
  fs::create_directory_symlink(elsewhere.path(), folder / "plugins");
  const std::string path = folder / "plugins/tiny.so";
  CHECK(refusal(path) == "accepted");
  ::chmod(elsewhere.path().c_str(), 0770);
  CHECK(refusal(path) == path + ": its folder " + elsewhere.path() +
                             " is writable by others than its owner (mode 0770); chmod go-w " + elsewhere.path());
  const auto registry = Registry::scan({folder / "plugins"});
  CHECK(registry.entries().empty());
  CHECK(registry.refused().size() == 1);
}

TEST_CASE("folders above, where others may exchange the plugins' folder") {
  const TemporaryFolder top;
  fs::create_directories(top / "a/b");
  const std::string path = top / "a/b/tiny.so";
  fs::copy_file(std::string(ABI_PLUGINS) + "/tiny.so", path);
  for (const std::string &made : {path, top / "a/b", top / "a"}) ::chmod(made.c_str(), 0755);
  CHECK(refusal(path) == "accepted");
  ::chmod(top.path().c_str(), 0777);
  CHECK(refusal(path) ==
        path + ": " + top.path() + " above its folder is writable by others than its owner (mode 0777); chmod go-w " + top.path());
  ::chmod(top.path().c_str(), 01777);  // as /tmp: files in there belong to their owners
  CHECK(refusal(path) == "accepted");
  ::chmod(top.path().c_str(), 0755);
  if (::geteuid() != 0) return;
  REQUIRE(::chown((top / "a").c_str(), 65534, 65534) == 0);
  CHECK(refusal(path) == path + ": " + (top / "a") +
                             " above its folder is owned by user 65534, wanted root or the user that runs " +
                             "atalaya (0); chown it or install the plugin again");
}

TEST_CASE("a folder full of bad plugins does not keep the good one from working") {
  const TemporaryFolder folder;
  for (const char *name : {"wrong_major", "no_note", "other_layout", "tiny"}) put(folder, name);
  std::ofstream(folder / "notes.txt") << "no plugin";
  std::ofstream(folder / "text.so") << "no plugin";
  auto registry = Registry::scan({folder.path(), folder / "absent"});
  CHECK(registry.refused().size() == 4);
  CHECK(registry.names(ATALAYA_SOURCE) == std::vector<std::string>{"tiny"});
  CHECK(registry.open(ATALAYA_SOURCE, "tiny").ok());
}
