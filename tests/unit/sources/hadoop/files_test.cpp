// SPDX-License-Identifier: Apache-2.0
// Locations of histories, and read positions in them.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "plugins/sources/hadoop/files/discovery.h"
#include "plugins/sources/hadoop/files/finder.h"
#include "plugins/sources/hadoop/files/places.h"
#include "plugins/sources/hadoop/files/positions.h"
#include "plugins/sources/hadoop/files/reading.h"
#include "plugins/sources/hadoop/files/webhdfs.h"
#include "tests/unit/sources/hadoop/spans_text.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::hadoop {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;
using Lines = std::vector<std::string>;

void put(const std::string &path, const std::string &text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// ---- topology
// --------------------------------------------------------------------------------------------------------------------

TEST_CASE("topology: how far data is, the nearest of its places") {
  const Topology topology({{"n1", "/d1/a"}, {"n2", "/d1/a"}, {"n3", "/d1/b"}, {"n4", "/d2/a"}}, {{"10.0.0.1", "n1"}});
  CHECK(topology.locality("n1", "n4,n1") == "node");
  CHECK(topology.locality("n1", "10.0.0.1") == "node");
  CHECK(topology.locality("n1", "n4,n2,n3") == "rack");
  CHECK(topology.locality("n1", "n4,n3") == "datacenter");
  CHECK(topology.locality("n1", "n4") == "remote");
  CHECK(topology.locality("n1", "") == "");
  CHECK(topology.locality("n1", "n9") == "");
  CHECK(topology.locality("n1", "n9,n4") == "");  // n9 may be nearer
  CHECK(topology.locality("n1", "n9,n2") == "rack");
  CHECK(topology.locality("n1", "/d1/a/n9") == "rack");
  CHECK(topology.locality("n1", "/d1/c/n9") == "datacenter");
  CHECK(topology.locality("n1", "/r2/n9") == "");
  CHECK(topology.host("10.0.0.1:8041") == "n1");
  CHECK(topology.host("[::1]:80") == "::1");
  CHECK(topology.host("fe80::1") == "fe80::1");
  CHECK(topology.locality_from_level("OFF_SWITCH", "n1", "n3") == "datacenter");
  CHECK(topology.locality_from_level("OFF_SWITCH", "n1", "") == "remote");
}

TEST_CASE("topology: a domain that metrics do not have") {
  const Topology topology({}, {{".example.org", ""}, {".old.org", ".new.org"}, {"n2.example.org", "two"}});
  CHECK(topology.host("n1.example.org:8041") == "n1");
  CHECK(topology.host("n1.old.org") == "n1.new.org");
  CHECK(topology.host("n2.example.org") == "two");
  CHECK(topology.host("n1.sub.example.org") == "n1.sub.example.org");
  CHECK(topology.host("n1") == "n1");
  CHECK(topology.host("") == "");
}

// ---- finding
// --------------------------------------------------------------------------------------------------------------------------

TEST_CASE("finder: files of a folder and its subfolders, oldest first, histories only; links are not followed") {
  const TemporaryFolder folder;
  for (const char *name : {"b.jhist", "sub/deeper/a", ".hidden", "x.crc", "job_1_2_conf.xml", "site.xml", "appstatus_x"})
    put(folder / name, "text");
  fs::create_symlink("/etc", folder / "link");
  fs::create_symlink("/etc/passwd", folder / "passwd");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  struct timespec old[2] = {{1000, 0}, {1000, 5'000'000}};
  REQUIRE(utimensat(AT_FDCWD, (folder / "sub/deeper/a").c_str(), old, 0) == 0);
  const auto storage = make_local_storage({folder.path()});
  const Finding finding = find_histories(*storage, folder.path());
  CHECK(finding.problems.empty());
  REQUIRE(finding.found.size() == 3);
  CHECK(finding.found[0].path == folder / "sub/deeper/a");
  CHECK(finding.found[0].changed_ms == 1'000'005);
  CHECK(finding.found[0].size == 4);
  for (const Found &one : finding.found) CHECK(one.configuration == (one.name == "job_1_2"));
  CHECK(find_histories(*storage, folder / "b.jhist").found.size() == 1);
  CHECK_THROWS_AS(find_histories(*storage, folder / "none"), Missing);
  CHECK_THROWS_WITH(find_histories(*storage, folder / "none"), ((folder / "none") + ": No such file or directory").c_str());
}

TEST_CASE("finder: names of jobs, parts of logs") {
  CHECK(job_name("application_1_2.zstd.inprogress") == "application_1_2");
  CHECK(job_name("eventlog_v2_application_1_2") == "application_1_2");
  CHECK(job_name("local-15.lz4") == "local-15");
  const TemporaryFolder folder;
  put(folder / "app-7/EVENT_LOG_1", "text");
  CHECK(find_histories(*make_local_storage({folder.path()}), folder.path()).found.at(0).name == "app-7");
  std::vector<Entry> files;
  for (const char *name :
       {"events_10_a", "events_2_a.zstd", "events_1_a", "appstatus_a", "events_x_a", "events_3", "events_99999999999999_a"})
    files.push_back({std::string("/f/") + name, 5, 0, false});
  const auto names = [&] {
    std::string out;
    for (const Part &part : rolled_parts(files)) out += part.path.substr(3) + "#" + std::to_string(part.number) + " ";
    return out;
  };
  CHECK(names() == "events_1_a#2 events_2_a.zstd#4 events_10_a#20 ");
  files.push_back({"/f/events_2_a.zstd.compact", 5, 0, false});
  CHECK(names() == "events_2_a.zstd.compact#5 events_10_a#20 ");
  CHECK_FALSE(rolled_parts(files).back().open);
  files.push_back({"/f/appstatus_a.inprogress", 0, 0, false});
  CHECK_FALSE(rolled_parts(files).front().open);
  CHECK(rolled_parts(files).back().open);
}

TEST_CASE("finder: a link that took a file's or a folder's place since it was listed is not followed") {
  const TemporaryFolder folder;
  put(folder / "secret/file", "text");
  put(folder / "logs/sub/file", "text");
  put(folder / "logs/file", "text");
  fs::create_directory_symlink(folder / "logs", folder / "named");
  const auto storage = make_local_storage({folder / "named"});
  REQUIRE(find_histories(*storage, folder / "named").found.size() == 2);
  CHECK(storage->read(folder / "named/sub/file", 1, 10) == "ext");
  CHECK(storage->read(folder / "named//sub/file", 0, 2) == "te");
  fs::remove_all(folder / "logs/sub");
  fs::create_directory_symlink(folder / "secret", folder / "logs/sub");
  fs::remove(folder / "logs/file");
  fs::create_symlink(folder / "secret/file", folder / "logs/file");
  CHECK_THROWS_AS(storage->read(folder / "named/sub/file", 0, 10), Missing);
  CHECK_THROWS_AS(storage->read(folder / "named/file", 0, 10), Missing);
  CHECK_THROWS_AS(storage->list(folder / "named/sub"), Missing);
  CHECK_THROWS_WITH(storage->status_of(folder / "named/file"),
                    ((folder / "named/file") + " is a symbolic link; links are followed only if path names them").c_str());
  CHECK(find_histories(*storage, folder / "named").found.empty());
  // In the middle of a path, too.
  CHECK_THROWS_AS(storage->status_of(folder / "named/sub/file"), Linked);
  CHECK_THROWS_AS(storage->status_of(folder / "named/sub"), Linked);
  // A link that the operator names is followed.
  CHECK(make_local_storage({folder / "logs/file"})->read(folder / "logs/file", 0, 10) == "text");
}

TEST_CASE("places: matches of a pattern; the folder before the pattern is trusted") {
  const TemporaryFolder folder;
  for (const char *name : {"a.log", "b.log", "c.txt"}) put(folder / name, "text");
  CHECK(paths_matching(folder / "*.log") == Lines{folder / "a.log", folder / "b.log"});
  CHECK(paths_matching(folder / "none*").empty());
  CHECK(fixed_part("/var/logs/a*/app-[12]") == "/var/logs");
  CHECK(fixed_part("/a*") == "/");
  CHECK(fixed_part("*.log").empty());
  CHECK(make_local_storage({"/"})->read(folder / "a.log", 0, 10) == "text");
}

// ---- discovery
// ------------------------------------------------------------------------------------------------------------------------

std::string property(const std::string &key, const std::string &value) {
  return "<property><name>" + key + "</name><value>" + value + "</value></property>";
}

TEST_CASE("discovery: histories in HDFS by its name node's web address, or the usual one") {
  const TemporaryFolder root;
  const auto paths = [&](const std::string &core, const std::string &hdfs, const std::string &mapred) {
    put(root / "etc/hadoop/conf/core-site.xml", "<configuration>" + core + "</configuration>");
    put(root / "etc/hadoop/conf/hdfs-site.xml", "<configuration>" + hdfs + "</configuration>");
    put(root / "etc/hadoop/conf/mapred-site.xml", "<configuration>" + mapred + "</configuration>");
    return discover(root.path()).paths;
  };
  CHECK(paths("", "", property("x", "y")) ==
        Lines{root / "tmp/hadoop-yarn/staging/history/done", root / "tmp/hadoop-yarn/staging/history/done_intermediate"});
  const std::string core = property("fs.defaultFS", "hdfs://nn:8020");
  CHECK(paths(core, "", "") == Lines{"webhdfs://nn:9870/tmp/hadoop-yarn/staging/history/done",
                                     "webhdfs://nn:9870/tmp/hadoop-yarn/staging/history/done_intermediate"});
  CHECK(paths(core, property("dfs.namenode.http-address", "web:50070"), property("mapreduce.jobhistory.done-dir", "/d"))[0] ==
        "webhdfs://web:50070/d");
  CHECK(paths(core, property("dfs.namenode.http-address", "0.0.0.0:50070"), property("mapreduce.jobhistory.done-dir", "/d"))[0] ==
        "webhdfs://nn:50070/d");
  CHECK(paths(core, "",
              property("yarn.app.mapreduce.am.staging-dir", "/s") + property("mapreduce.jobhistory.done-dir", "file:/d"))[0] ==
        root / "d");
}

TEST_CASE("discovery: the name nodes of a service that has several, by TLS where only that is") {
  const TemporaryFolder root;
  const auto path = [&](const std::string &uri, const std::string &hdfs) {
    put(root / "etc/hadoop/core-site.xml", "<configuration>" + property("fs.defaultFS", "hdfs://ns") +
                                               property("mapreduce.jobhistory.done-dir", uri) +
                                               property("mapreduce.jobhistory.intermediate-done-dir", uri) + "</configuration>");
    put(root / "etc/hadoop/hdfs-site.xml", "<configuration>" + hdfs + "</configuration>");
    return discover(root.path()).paths.at(0);
  };
  const std::string nodes = property("dfs.ha.namenodes.ns", "a, b") + property("dfs.namenode.http-address.ns.a", "n1:50070") +
                            property("dfs.namenode.rpc-address.ns.b", "n2:8020");
  for (const char *uri : {"/d", "hdfs:///d", "hdfs://ns/d"}) CHECK(path(uri, nodes) == "webhdfs://n1:50070,n2:9870/d");
  CHECK(path("/d", nodes + property("dfs.http.policy", "HTTPS_ONLY") + property("dfs.namenode.https-address.ns.a", "n1:1")) ==
        "swebhdfs://n1:1,n2:9871/d");
  CHECK(path("/d", property("dfs.namenode.http-address.ns", "n3:1")) == "webhdfs://n3:1/d");
  CHECK(path("hdfs:///d", "") == "webhdfs://ns:9870/d");
}

TEST_CASE("discovery: unusable files are reported") {
  const TemporaryFolder root;
  put(root / "etc/hadoop/core-site.xml",
      "<configuration>" + property("fs.defaultFS", "s3a://bucket") + property("mapreduce.jobhistory.done-dir", "${none}/x") + "<");
  put(root / "etc/spark/spark-defaults.conf", "spark.eventLog.dir= hdfs:///logs\nspark.history.fs.logDirectory\thdfs://h/l\n");
  const Discovery found = discover(root.path());
  CHECK(found.paths == Lines{"webhdfs://h:9870/l"});
  REQUIRE(found.problems.size() == 4);
  CHECK(found.problems[0].find("core-site.xml: line 1: ") != std::string::npos);
  CHECK(found.problems[1] == "\"s3a://bucket/${none}/x\" has an unset variable, or is not a path");
  CHECK(found.problems[2] ==
        "s3a://bucket/tmp/hadoop-yarn/staging/history/done_intermediate is on an unsupported file system; only local folders "
        "and HDFS are read");
  CHECK(found.problems[3] == "hdfs:///logs names no server, and dfs.namenode.http-address is not set");
  CHECK(found.searched == Lines{root / "etc/hadoop", root / "etc/spark"});
}

TEST_CASE("discovery: Spark's configuration") {
  const auto read = read_spark_defaults("# a\n\nspark.a 1\n spark.b=2 3 \r\nspark.c : x:y\nspark.d\n");
  REQUIRE(read.size() == 4);
  CHECK(read[0] == std::pair<std::string, std::string>("spark.a", "1"));
  CHECK(read[1] == std::pair<std::string, std::string>("spark.b", "2 3"));
  CHECK(read[2] == std::pair<std::string, std::string>("spark.c", "x:y"));
  CHECK(read[3] == std::pair<std::string, std::string>("spark.d", ""));
}

// ---- WebHDFS
// -----------------------------------------------------------------------------------------------------------------------------

TEST_CASE("webhdfs: valid and invalid responses of the server") {
  const std::vector<Entry> list = read_file_list(
      R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"a","type":"FILE","length":5,"modificationTime":7},{"pathSuffix":"b","type":"DIRECTORY","length":0,"modificationTime":8},)"
      R"({"pathSuffix":"..","type":"FILE","length":5,"modificationTime":7},{"pathSuffix":"x/y","type":"FILE","length":5,"modificationTime":7},)"
      R"({"pathSuffix":"c","type":"FILE","length":-5,"modificationTime":7},{"pathSuffix":"d","type":"SYMLINK","length":5,"modificationTime":7},7]}})",
      "webhdfs://h:1/f");
  REQUIRE(list.size() == 2);
  CHECK(list[0].path == "webhdfs://h:1/f/a");
  CHECK(list[0].size == 5);
  CHECK(list[0].changed_ms == 7);
  CHECK(list[1].folder);
  CHECK(read_file_status(R"({"FileStatus":{"pathSuffix":"","type":"FILE","length":5,"modificationTime":7}})", "u").path == "u");
  CHECK_THROWS_WITH(read_file_list("<html>", "u"), "u: invalid answer from WebHDFS");
  CHECK_THROWS_WITH(read_file_status("{}", "u"), "u: invalid answer from WebHDFS");
}

// ---- positions
// ----------------------------------------------------------------------------------------------------------------------------

TEST_CASE("positions: only increase, and files are removed when they are gone") {
  const TemporaryFolder folder;
  {
    Positions positions(folder / "p.db");
    CHECK_FALSE(positions.position_of("a"));
    positions.save({{"a", {2, 10}, "/x", Mark{5, 6}}, {"a", {1, 99}, "/y", std::nullopt}, {"", {}, "/z", Mark{7, 8}}}, 100);
  }
  Positions positions(folder / "p.db");
  CHECK(positions.position_of("a") == protocols::Position{2, 10});
  CHECK(positions.files() == std::map<std::string, Mark>{{"/x", {5, 6}}, {"/z", {7, 8}}});
  positions.forget_all_but({"/z"}, 100);
  CHECK(positions.files() == std::map<std::string, Mark>{{"/z", {7, 8}}});
  CHECK(positions.position_of("a"));
  positions.forget_all_but({}, 101);
  CHECK_FALSE(positions.position_of("a"));
}

TEST_CASE("positions: a damaged file is written again") {
  const TemporaryFolder folder;
  put(folder / "p.db", std::string(5000, 'x'));
  Positions positions(folder / "p.db");
  positions.save({{"a", {0, 1}, "/x", std::nullopt}}, 1);
  CHECK(positions.position_of("a") == protocols::Position{0, 1});
}

// ---- reading
// -------------------------------------------------------------------------------------------------------------------------------

std::string stage(int number) {
  return R"({"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":)" + std::to_string(number) +
         R"(,"Submission Time":200,"Completion Time":300}})" + "\n";
}

struct Follower {
  explicit Follower(const std::string &path) : found(find_histories(*storage, path).found.at(0)), reading(rules, found) {}
  // The stages that it returns now.
  std::string read() {
    std::string out;
    found = find_histories(*storage, found.path).found.at(0);
    reading.read_new(
        *storage, found, true, [&](const std::string &) { return held; },
        [&](const std::string &, const protocols::Spans &spans, protocols::Position at) {
          for (const protocols::Span &span : spans) out += span.text == "stage" ? span.stage + " " : "";
          given = at;
          return true;
        });
    return out;
  }
  const std::unique_ptr<Storage> storage = make_local_storage({});
  const Rules rules{};
  Found found;
  std::optional<protocols::Position> held;
  protocols::Position given;
  Reading reading;
};

const std::string kStart = R"({"Event":"SparkListenerApplicationStart","App Name":"n","App ID":"app-1","Timestamp":100})"
                           "\n";

TEST_CASE("reading: continues at the last position; another one, at the position of the sinks") {
  const TemporaryFolder folder;
  const std::string path = folder / "app";
  put(path, kStart + stage(1) + stage(2).substr(0, 30));
  Follower first(path);
  CHECK(first.read() == "1 ");
  CHECK(first.read().empty());
  const protocols::Position after_one = first.given;
  put(path, kStart + stage(1) + stage(2) + stage(3));
  CHECK(first.read() == "2 3 ");
  Follower second(path);
  second.held = after_one;
  CHECK(second.read() == "2 3 ");
  CHECK(second.given == first.given);
  Follower third(path);
  third.held = first.given;
  CHECK(third.read().empty());
}

// As HDFS: a request for bytes behind the listed length is refused, unless it lists none; bytes of an open file behind it
// are returned.
class StrictStorage final : public Storage {
 public:
  explicit StrictStorage(std::string written, uint64_t listed) : text(std::move(written)), size(listed) {}
  bool reads_at_end() const override { return false; }
  Entry status_of(const std::string &path) override { return {path, size, 0, false}; }
  std::vector<Entry> list(const std::string &) override { return {}; }
  std::string read(const std::string &, uint64_t offset, size_t wanted) override {
    ++asked;
    if (offset > text.size() || (size > 0 && offset >= size)) throw Unreadable("out of the range");
    return text.substr(offset, wanted);
  }

  std::string text;
  uint64_t size;
  size_t asked = 0;
};

// The stages of "app.inprogress" or another file there, each time that it is read.
struct Remote {
  Remote(std::string text, uint64_t listed, const char *path)
      : storage(std::move(text), listed), name(path), reading(rules, find_histories(storage, path).found.at(0)) {}
  std::string read() {
    std::string out;
    const Found found = find_histories(storage, name).found.at(0);
    CHECK_FALSE(reading.outdated(storage, found));
    reading.read_new(
        storage, found, true, [](const std::string &) { return std::optional<protocols::Position>(); },
        [&](const std::string &, const protocols::Spans &spans, protocols::Position) {
          for (const protocols::Span &span : spans) out += span.text == "stage" ? span.stage + " " : "";
          ++given;
          return true;
        });
    return out;
  }

  StrictStorage storage;
  const std::string name;
  const Rules rules{};
  Reading reading;
  size_t given = 0;
};

TEST_CASE("reading: nothing is requested at the end of a file if the server refuses that") {
  std::string text = kStart + stage(1);
  text.append((size_t{4} << 20) - text.size() - 1, ' ').append("\n");  // all that is read at once
  Remote remote(text, text.size(), "app");
  CHECK(remote.read() == "1 ");
  CHECK(remote.read().empty());
  CHECK(remote.storage.asked == 1);
}

TEST_CASE("reading: bytes of an open file that the server does not list are read") {
  Remote remote(kStart + stage(1), 0, "app.inprogress");
  CHECK(remote.read() == "1 ");
  CHECK(remote.read().empty());
  CHECK(remote.given == 1);
  remote.storage.text += stage(2) + stage(3).substr(0, 20);
  CHECK(remote.read() == "2 ");
  remote.storage.text += stage(3).substr(20);
  CHECK(remote.read() == "3 ");
  // Its first block is full: the server lists that block, and returns bytes of the next block only when it lists that one, too.
  remote.storage.size = remote.storage.text.size() - 1;
  remote.storage.text += stage(4);
  CHECK(remote.read().empty());
  remote.storage.text += stage(5);
  remote.storage.size = remote.storage.text.size() - 1;
  CHECK(remote.read() == "4 5 ");
}

TEST_CASE("reading: a closed file is read up to its listed length; an idle file reports no open spans") {
  Remote remote(kStart + stage(1), 0, "app");
  CHECK(remote.read().empty());
  CHECK(remote.storage.asked == 0);
  const auto open_spans = [](bool report_open) {
    StrictStorage storage(kStart, kStart.size());
    const Found found = find_histories(storage, "app").found.at(0);
    const Rules rules;
    size_t spans = 0;
    Reading(rules, found)
        .read_new(
            storage, found, report_open, [](const std::string &) { return std::optional<protocols::Position>(); },
            [&](const std::string &, const protocols::Spans &some, protocols::Position) {
              spans += some.size();
              return true;
            });
    return spans;
  };
  CHECK(open_spans(true) == 1);
  CHECK(open_spans(false) == 0);
}

TEST_CASE("reading: a file that has shrunk is another one") {
  const TemporaryFolder folder;
  const std::string path = folder / "app";
  put(path, kStart + stage(1) + stage(2));
  Follower follower(path);
  follower.read();
  put(path, kStart);
  CHECK(follower.reading.outdated(*follower.storage, find_histories(*follower.storage, path).found.at(0)));
}

TEST_CASE("reading: thousands of spans go in batches, each with the place of its last") {
  const TemporaryFolder folder;
  const std::string path = folder / "app";
  std::string text = kStart;
  for (int i = 0; i < 5000; ++i) text += stage(i);
  put(path, text);
  const auto storage = make_local_storage({path});
  const Found found = find_histories(*storage, path).found.at(0);
  const Rules rules;
  size_t stages = 0, batches = 0;
  protocols::Position last;
  Reading(rules, found)
      .read_new(
          *storage, found, true, [](const std::string &) { return std::optional<protocols::Position>(); },
          [&](const std::string &, const protocols::Spans &spans, protocols::Position at) {
            stages += static_cast<size_t>(
                std::count_if(spans.begin(), spans.end(), [](const protocols::Span &span) { return span.text == "stage"; }));
            ++batches;
            CHECK(spans.size() <= 2000);
            CHECK(at.is_after(last));
            last = at;
            return true;
          });
  CHECK(stages == 5000);
  CHECK(batches >= 3);
  CHECK(last.offset == text.size());
}

}  // namespace
}  // namespace atalaya::hadoop
