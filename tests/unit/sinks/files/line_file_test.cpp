// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/sink/line_file.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "tests/unit/sinks/files/files.h"

using atalaya::Code;
using atalaya::Failure;
using atalaya::io::FileOptions;
using atalaya::io::LineFile;
using namespace atalaya;
using namespace atalaya::testing;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// An open file, and its messages to the operator.
struct Opened {
  std::vector<std::string> notices;
  io::LineFile file;
  explicit Opened(const io::FileOptions &options) : file(options, [this](const std::string &text) { notices.push_back(text); }) {
    file.open();
  }
};

io::FileOptions at(const std::string &path) {
  io::FileOptions options;
  options.path = path;
  return options;
}

struct Refusal {
  Code code = Code::ok;
  std::string text;
};
template <class F>
Refusal refusal_of(F &&body) {
  try {
    body();
  } catch (const Failure &failure) {
    return {failure.code(), failure.what()};
  }
  return {};
}
Refusal open_refusal(const io::FileOptions &options) {
  return refusal_of([&] { Opened opened(options); });
}

// No file of this process may grow past this size: the kernel cuts the write short and then fails it, as a full disk does.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  SizeLimit(const SizeLimit &) = delete;
  SizeLimit &operator=(const SizeLimit &) = delete;
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  sighandler_t old_handler_ = SIG_DFL;
};

}  // namespace

TEST_CASE("lines are appended, also to the output of an earlier run; the header comes once") {
  const TemporaryFolder folder;
  io::FileOptions options = at(folder / "out.csv");
  options.header = "time,value\n";
  {
    Opened first(options);
    first.file.append("1,1\n", kSecond);
    first.file.append("2,2\n3,3\n", kSecond);
  }
  options.sync = true;
  Opened second(options);
  second.file.append("4,4\n", kSecond);
  CHECK(content(options.path) == "time,value\n1,1\n2,2\n3,3\n4,4\n");
  CHECK(second.notices.empty());
}

TEST_CASE("a file that cannot be written is reported at the start") {
  const TemporaryFolder folder;
  const Refusal missing = open_refusal(at(folder / "no/out"));
  CHECK(missing.code == Code::bad_config);
  CHECK(missing.text == folder / "no/out" + ": the folder " + folder / "no" + " does not exist; create it or change path");

  std::filesystem::create_directory(folder / "folder");
  CHECK(open_refusal(at(folder / "folder")).text == folder / "folder" + ": is a folder; path must name a file");
  CHECK(open_refusal(at("/dev/null")).text == "/dev/null: is not a regular file; for a terminal use the sink stdout");

  put(folder / "plain", "");
  CHECK(open_refusal(at(folder / "plain/out")).code == Code::bad_config);
}

TEST_CASE("a file or folder without permission is a clear error") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  io::FileOptions options = at(folder / "out");
  put(options.path, "");
  const uid_t user = ::geteuid();
  const auto refusal = [&] {
    if (user == 0) REQUIRE(::seteuid(65534) == 0);  // root may write everything
    Refusal result = open_refusal(options);
    if (user == 0) REQUIRE(::seteuid(user) == 0);
    return result;
  };
  fs::permissions(folder / ".", fs::perms{0555});
  fs::permissions(options.path, fs::perms::none);
  CHECK(refusal().code == Code::bad_config);
  CHECK(refusal().text == options.path + ": Permission denied; the user that runs the agent must be able to write it");

  fs::permissions(options.path, fs::perms::all);
  CHECK(refusal().code == Code::ok);
  options.rotate_size = 1000;  // needs the folder too
  CHECK(refusal().code == Code::bad_config);
  CHECK(refusal().text == options.path + ": cannot rename files in " + fs::path(options.path).parent_path().string() +
                              ": Permission denied; make it writable or leave rotation to logrotate");
  fs::permissions(folder / ".", fs::perms::owner_all);
}

TEST_CASE("two writers of one file are one too many") {
  const TemporaryFolder folder;
  const io::FileOptions options = at(folder / "out");
  {
    const Opened first(options);
    const Refusal second = open_refusal(options);
    CHECK(second.code == Code::retry);
    CHECK(second.text == options.path + ": another process writes this file; stop it or change path");
  }
  CHECK(open_refusal(options).code == Code::ok);
}

TEST_CASE("a torn last line is cut at the next start, however long it is") {
  const TemporaryFolder folder;
  for (const size_t torn : {size_t{1}, size_t{65'535}, size_t{65'536}, size_t{200'000}}) {
    const io::FileOptions options = at(folder / "out");
    put(options.path, "whole\nlines\n" + std::string(torn, 'x'));
    Opened opened(options);
    REQUIRE(opened.notices.size() == 1);
    CHECK(opened.notices[0] == options.path + ": cut " + std::to_string(torn) + " bytes of a torn last line of a killed process");
    opened.file.append("more\n", kSecond);
    CHECK(content(options.path) == "whole\nlines\nmore\n");
  }
  put(folder / "first", "only a torn line");
  Opened opened(at(folder / "first"));
  CHECK(content(folder / "first").empty());
}

TEST_CASE("a file that is none of ours is left alone") {
  const TemporaryFolder folder;
  const std::string foreign(size_t{17} << 20, '\0');
  put(folder / "image", foreign);
  const Refusal refusal = open_refusal(at(folder / "image"));
  CHECK(refusal.code == Code::bad_config);
  CHECK(refusal.text == folder / "image" + ": has no line end in its last 16 MiB: not a file of this sink; change path");
  CHECK(std::filesystem::file_size(folder / "image") == foreign.size());
}

TEST_CASE("a killed writer leaves whole lines and at most one torn one") {
  const TemporaryFolder folder;
  const io::FileOptions options = at(folder / "out");
  const std::string line(997, 'a');
  std::string batch;
  for (int i = 0; i < 100; ++i) batch += line + "\n";
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    io::LineFile file(options, [](const std::string &) {});
    file.open();
    for (int i = 0; i < 100; ++i) {
      file.append(batch, kSecond);
      if (i == 2 && ::write(ready[1], "x", 1) != 1) ::_exit(1);
    }
    ::pause();
  }
  char byte;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  ::close(ready[0]);
  ::close(ready[1]);
  CHECK(WIFSIGNALED(status));

  Opened opened(options);
  opened.file.append("end\n", kSecond);
  const std::string text = content(options.path);
  CHECK(text.size() >= 3 * batch.size());
  CHECK((text.size() - 4) % (line.size() + 1) == 0);
  CHECK(text.ends_with("a\nend\n"));
}

TEST_CASE("a full disk: the partial batch is undone, and the same batch fits later, once") {
  const TemporaryFolder folder;
  for (const bool sync : {false, true}) {
    io::FileOptions options = at((folder / (sync ? "synced" : "plain")));
    options.sync = sync;
    options.header = "h\n";
    const std::string batch = std::string(2999, 'b') + "\n";
    std::string expected = options.header;
    expected += batch;
    Opened opened(options);
    {
      const SizeLimit limit(4096);
      opened.file.append(batch, kSecond);
      for (int attempt = 0; attempt < 3; ++attempt) {
        const Refusal refusal = refusal_of([&] { opened.file.append(batch, kSecond); });
        CHECK(refusal.code == Code::retry);
        CHECK(refusal.text == options.path + ": File too large; nothing was written, the batch will be retried");
        CHECK(content(options.path) == expected);
      }
    }
    opened.file.append(batch, kSecond);
    expected += batch;
    CHECK(content(options.path) == expected);
  }
}

TEST_CASE("a header that does not fit is undone as well") {
  const TemporaryFolder folder;
  io::FileOptions options = at(folder / "out");
  options.header = "header\n";
  Opened opened(options);
  {
    const SizeLimit limit(9);
    CHECK(refusal_of([&] { opened.file.append("line\n", kSecond); }).code == Code::retry);
    CHECK(content(options.path).empty());
  }
  opened.file.append("line\n", kSecond);
  CHECK(content(options.path) == "header\nline\n");
}

TEST_CASE("rotation by size keeps the set number of files, the newest as .1, and cuts no batch") {
  const TemporaryFolder folder;
  io::FileOptions options = at(folder / "out");
  options.rotate_size = 10;
  options.keep = 2;
  options.header = "h\n";
  Opened opened(options);
  for (const char *batch : {"aaa\n", "bbb\n", "ccc\n", "a batch larger than a file\n", "ddd\n"}) opened.file.append(batch, kSecond);
  CHECK(content(options.path) == "h\nddd\n");
  CHECK(content(options.path + ".1") == "h\na batch larger than a file\n");
  CHECK(content(options.path + ".2") == "h\nccc\n");
  CHECK(content(options.path + ".3") == "(absent)");
  CHECK(opened.notices.empty());
}

TEST_CASE("rotation by time begins a file at each multiple, and none when the clock goes back") {
  const TemporaryFolder folder;
  io::FileOptions options = at(folder / "out");
  options.rotate_every_ns = 3600 * kSecond;
  const int64_t noon = int64_t{4'000'000'000} * kSecond / options.rotate_every_ns * options.rotate_every_ns;
  Opened opened(options);
  opened.file.append("a\n", noon + 10 * kSecond);
  opened.file.append("b\n", noon + 3599 * kSecond);
  opened.file.append("c\n", noon + 3600 * kSecond);
  opened.file.append("d\n", noon);
  CHECK(content(options.path + ".1") == "a\nb\n");
  CHECK(content(options.path) == "c\nd\n");
}

TEST_CASE("an old file is rotated by time after a restart") {
  const TemporaryFolder folder;
  io::FileOptions options = at(folder / "out");
  options.rotate_every_ns = 3600 * kSecond;
  put(options.path, "yesterday\n");
  Opened opened(options);
  opened.file.append("much later\n", int64_t{4'000'000'000} * kSecond);
  CHECK(content(options.path + ".1") == "yesterday\n");
  CHECK(content(options.path) == "much later\n");
}

TEST_CASE("rotation that fails is reported once, and the lines continue into the same file") {
  const TemporaryFolder folder;
  io::FileOptions options = at(folder / "out");
  options.rotate_size = 3;
  std::filesystem::create_directories(options.path + ".1/full");
  options.keep = 1;
  Opened opened(options);
  for (int i = 0; i < 3; ++i) opened.file.append("aa\n", kSecond);
  CHECK(content(options.path) == "aa\naa\naa\n");
  REQUIRE(opened.notices.size() == 1);
  CHECK(opened.notices[0] == options.path + ": cannot rotate: Is a directory; the file grows until the agent is restarted");
}

TEST_CASE("a file that logrotate moved is started again") {
  const TemporaryFolder folder;
  const io::FileOptions options = at(folder / "out");
  Opened opened(options);
  opened.file.append("a\n", kSecond);
  std::filesystem::rename(options.path, folder / "moved");
  opened.file.append("b\n", kSecond);
  put(folder / "created", "");
  std::filesystem::rename(folder / "created", options.path);  // moved and created again
  opened.file.append("c\n", kSecond);
  CHECK(content(folder / "moved") == "a\n");
  CHECK(content(options.path) == "c\n");
  REQUIRE(opened.notices.size() == 2);
  CHECK(opened.notices[0] == options.path + ": was moved; a new file was created");
}

TEST_CASE("a file that was truncated in place continues from there") {
  const TemporaryFolder folder;
  const io::FileOptions options = at(folder / "out");
  Opened opened(options);
  opened.file.append("a\n", kSecond);
  std::filesystem::resize_file(options.path, 0);
  opened.file.append("b\n", kSecond);
  CHECK(content(options.path) == "b\n");
}

TEST_CASE("a folder that is removed is retried until it is back") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  const io::FileOptions options = at(folder / "sub/out");
  Opened opened(options);
  std::filesystem::remove_all(folder / "sub");
  const Refusal refusal = refusal_of([&] { opened.file.append("a\n", kSecond); });
  CHECK(refusal.code == Code::retry);
  CHECK(refusal.text == options.path + ": the folder " + folder / "sub" + " does not exist; create it or change path");
  std::filesystem::create_directory(folder / "sub");
  opened.file.append("a\n", kSecond);
  CHECK(content(options.path) == "a\n");
}
