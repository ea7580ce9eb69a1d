// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/sqlite/trace_files.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace atalaya::sqlite_sink {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNoon = 1'796'126'400 * kSecond;  // 2026-12-01 12:00 UTC

RecordedTime seconds(int64_t from, int64_t until) {
  return {kNoon + from * kSecond, kNoon + until * kSecond};
}

// What the thread does, one event after the other.
class Events {
 public:
  void add(std::string text) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(text));
    changed_.notify_all();
  }
  std::string next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !all_.empty(); });
    std::string first = all_.front();
    all_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> all_;
};

struct Fixture {
  TraceFiles files(TraceFiles::Write write, size_t maximum = 3, uint64_t bytes = 1 << 20) {
    return {{folder / "traces", maximum, bytes}, 0, std::move(write), [this](Level, const std::string &text) { log.add(text); }};
  }
  // Writes the length of the time in seconds.
  static core::Status write_length(const RecordedTime &time, int file, int) {
    const std::string text = std::to_string((time.until_ns - time.from_ns) / kSecond);
    return ::write(file, text.data(), text.size()) > 0 ? core::Status(core::Done{}) : core::Status(core::Error{"no"});
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder / "traces")) names.insert(entry.path().filename());
    return names;
  }
  std::string content(const std::string &name) const {
    std::ifstream in(folder / ("traces/" + name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  testing::TemporaryFolder folder;
  Events log;
};

TEST_CASE("a recording becomes a file that the group may read, and no other file is left") {
  Fixture at;
  const mode_t before = ::umask(077);
  {
    TraceFiles files = at.files(Fixture::write_length);
    files.add(seconds(0, 130));
    CHECK(at.log.next() == "recording: " + at.folder / "traces/recording-2026-12-01T12-00-00.000Z.json");
  }
  ::umask(before);
  CHECK(at.names() == std::set<std::string>{"recording-2026-12-01T12-00-00.000Z.json"});
  CHECK(at.content("recording-2026-12-01T12-00-00.000Z.json") == "130");
  struct stat info {};
  REQUIRE(::stat((at.folder / "traces/recording-2026-12-01T12-00-00.000Z.json").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
}

TEST_CASE("recordings that overlap are one file, with the time of all") {
  Fixture at;
  TraceFiles files = at.files(Fixture::write_length);
  files.add(seconds(10, 130));
  at.log.next();
  files.add(seconds(0, 120));
  at.log.next();
  files.add(seconds(125, 200));
  at.log.next();
  files.add(seconds(300, 310));
  at.log.next();
  CHECK(at.names() == std::set<std::string>{"recording-2026-12-01T12-00-10.000Z.json", "recording-2026-12-01T12-05-00.000Z.json"});
  CHECK(at.content("recording-2026-12-01T12-00-10.000Z.json") == "200");
  // Triggers without an end: a file has at most a quarter of an hour.
  for (int i = 0; i < 20; ++i) {
    files.add(seconds(1000 + i * 100, 1110 + i * 100));
    at.log.next();
  }
  for (const std::string &name : at.names()) CHECK(std::stoi(at.content(name)) <= 900);
}

TEST_CASE("the folder is bounded in files and bytes; other files in it stay") {
  Fixture at;
  std::filesystem::create_directory(at.folder / "traces");
  std::ofstream(at.folder / "traces/recording-of-mine.json") << "x";
  std::ofstream(at.folder / "traces/recording-2020-01-01T00-00-00.000Z.json") << "x";
  std::ofstream(at.folder / "traces/recording-2020-01-01T00-00-01.000Z.json.new") << "of an agent that was killed";
  const auto write = [](const RecordedTime &time, int file, int) {
    return core::Status(::ftruncate(file, (time.until_ns - time.from_ns) / kSecond * 1000) == 0 ? core::Status(core::Done{})
                                                                                                : core::Status(core::Error{"no"}));
  };
  TraceFiles files = at.files(write, 3, 100'000);
  const auto add = [&](int from, int length) {
    files.add(seconds(from, from + length));
    return at.log.next();
  };
  for (int i = 0; i < 6; ++i) {
    add(i * 100, 10);
    CHECK(at.names().size() <= 4);
    CHECK(at.names().contains("recording-of-mine.json"));
  }
  CHECK(at.names().size() == 4);
  CHECK_FALSE(at.names().contains("recording-2020-01-01T00-00-00.000Z.json"));
  // 85,000 bytes leave room for one of 10,000.
  add(1000, 85);
  CHECK(at.names().size() == 3);
  CHECK(at.names().contains("recording-2026-12-01T12-16-40.000Z.json"));
  // One that is too large is none, and removes none.
  const std::string refused = add(2000, 101);
  CHECK(refused.find("it has 101000 bytes; raise traces.max_size, or shorten the recordings") != std::string::npos);
  CHECK(at.names().size() == 3);
}

TEST_CASE("a failure is counted and reported, leaves no file, and the next recording has its file") {
  Fixture at;
  std::ofstream(at.folder / "traces") << "not a folder";
  int left = 1;
  TraceFiles files = at.files([&left](const RecordedTime &time, int file, int stop) {
    if (left-- > 0) return core::Status(core::Error{"the store is locked"});
    return Fixture::write_length(time, file, stop);
  });
  CHECK(at.log.next().find("recordings have no files, until this folder can be made") != std::string::npos);
  files.add(seconds(0, 1));
  CHECK(at.log.next().find("; 1 without a file since the start. The recording is in the store") != std::string::npos);
  std::filesystem::remove(at.folder / "traces");
  files.add(seconds(10, 11));
  const std::string second = at.log.next();
  CHECK(second.find("no file recording-2026-12-01T12-00-10.000Z.json of a recording: the store is locked; 2 without a file") == 0);
  CHECK(at.names().empty());
  files.add(seconds(20, 21));
  at.log.next();
  CHECK(at.names().size() == 1);
}

TEST_CASE("recordings that come faster than files are written: each has its file, or is counted and named") {
  Fixture at;
  Events begun, released;
  TraceFiles files = at.files(
      [&](const RecordedTime &time, int file, int stop) {
        begun.add("begun");
        released.next();
        return Fixture::write_length(time, file, stop);
      },
      100);
  files.add(seconds(0, 1));
  begun.next();
  // The first one is being written: it makes room for the 17th. The 18th and 19th cost the second and third.
  for (int i = 1; i < 19; ++i) files.add(seconds(i * 10, i * 10 + 1));
  for (const char *time : {"12-00-10", "12-00-20"})
    CHECK(at.log.next().find("no file recording-2026-12-01T" + std::string(time) + ".000Z.json of a recording: 16 others wait") ==
          0);
  std::set<std::string> written;
  for (int i = 0; i < 17; ++i) {
    released.add("go on");
    const std::string line = at.log.next();
    CHECK(line.find("recording: ") == 0);
    written.insert(line);
  }
  CHECK(written.size() == 17);
  CHECK(at.names().size() == 17);
}

TEST_CASE("the time of a recording: of a span that a recorder may have written") {
  const auto time = recorded_time(kNoon, kSecond);
  REQUIRE(time);
  CHECK(time->from_ns == kNoon);
  CHECK(time->until_ns == kNoon + kSecond);
  CHECK(recorded_time(kNoon, 2 * 3600 * kSecond));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  for (const auto &[from, length] : std::initializer_list<std::pair<int64_t, int64_t>>{{kNoon, 0},
                                                                                       {kNoon, -1},
                                                                                       {kNoon, kMost},
                                                                                       {kMost, 1},
                                                                                       {kMost - 1, 2},
                                                                                       {-1, kSecond},
                                                                                       {kLeast, kMost},
                                                                                       {0, 48 * 3600 * kSecond}})
    CHECK_FALSE(recorded_time(from, length));
}

TEST_CASE("the end of the sink ends the writer, and leaves no part of a file") {
  Fixture at;
  {
    Events begun;
    TraceFiles files = at.files([&begun](const RecordedTime &, int file, int stop) {
      CHECK(::write(file, "part", 4) == 4);
      begun.add("begun");
      pollfd wait{stop, POLLIN, 0};
      ::poll(&wait, 1, -1);
      return core::Status(core::Error{"the agent stops"});
    });
    files.add(seconds(0, 1));
    begun.next();
  }
  CHECK(at.log.next().find("the agent stops") != std::string::npos);
  CHECK(at.names().empty());
}

TEST_CASE("the error of a writer that was ended says what to do") {
  CHECK(with_advice("it takes too long", 180 * kSecond) == "it takes too long (limit: 180 s); shorten the recordings");
  CHECK(with_advice("it was ended by signal 9", kSecond) ==
        "it was ended by signal 9; if its memory was too much, raise MemoryMax of the unit, or shorten the recordings");
  CHECK(with_advice("the agent stops", kSecond) == "the agent stops");
}

TEST_CASE("names of files") {
  CHECK(trace_file_name(kNoon + 1'250'000'000) == "recording-2026-12-01T12-00-01.250Z.json");
  CHECK(is_trace_file_name("recording-2026-12-01T12-00-01.250Z.json"));
  for (const char *other : {"", "recording-.json", "recording-2026-12-01T12-00-01.250Z.json.new",
                            "recording-2026-12-01T12-00-01.25xZ.json", "recording_2026-12-01T12-00-01.250Z.json"})
    CHECK_FALSE(is_trace_file_name(other));
}

}  // namespace
}  // namespace atalaya::sqlite_sink
