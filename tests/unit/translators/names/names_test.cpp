// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/names.h"

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "core/config/evaluate.h"
#include "tests/unit/count_allocations.h"
#include "tests/unit/filters/stages/fixture.h"
#include "tests/unit/translators/names/fake_processes.h"

namespace atalaya::testing {

using names::Names;
using Process = FakeProcesses::Process;

namespace {

// Parameters of a.translate.names in a pipeline file.
core::Value written(const std::string &root, const std::string &parameters) {
  const TemporaryFolder folder;
  const std::string file = folder / "file.lua";
  std::ofstream(file) << "local a = require \"atalaya\"\na.translate.names { " << parameters << " }\n";
  core::Evaluation evaluation = core::evaluate({file}, LUA_FOLDER);
  for (const auto &report : evaluation.reports) FAIL(report.text);
  REQUIRE(evaluation.components.size() == 1);
  core::Value value = evaluation.components[0].parameters;
  value.map.emplace_back("root", text(root));
  std::sort(value.map.begin(), value.map.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  return value;
}

std::string sample(int pid, const std::string &name, const std::string &fields = "") {
  return "pid=" + std::to_string(pid) + " process=" + name + " | proc.start.time=1699999999000000000i" + fields;
}

class Host {
 public:
  explicit Host(const std::string &parameters = "")
      : bench(written(fake.root(), (parameters.find("wait") == std::string::npos ? "wait = \"1s\", " : "") + parameters)) {}

  // The tags of the samples after one window.
  Lines window(const Lines &in) { return tags(bench.process(in, ++second_)); }
  // Repeats the same window, as the thread answers in parallel, until the tags are these.
  bool becomes(const Lines &in, const Lines &out) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    Lines got;
    while (std::chrono::steady_clock::now() < until) {
      got = tags(bench.process(in, second_));
      if (got == out) return true;
      std::this_thread::yield();
    }
    CHECK(got == out);
    return false;
  }
  // All earlier requests have been answered when the last one has been.
  void answered() {
    const int pid = next_mark_++;
    fake.put({.pid = pid, .name = "java", .words = {"java", "a.Mark"}});
    becomes({sample(pid, "java")}, {"process=Mark"});
  }
  void put(const Process &process) const { fake.put(process); }

  FakeProcesses fake;
  Bench<Names> bench;

 private:
  static Lines tags(const Lines &lines) {
    Lines result;
    for (const std::string &line : lines) {
      std::string left = line.substr(0, line.find(" |"));
      if (left.starts_with("pid=")) left.erase(0, left.find(' ') + 1);
      result.push_back(left);
    }
    return result;
  }

  int64_t second_ = 0;
  int next_mark_ = 100000;
};

}  // namespace

TEST_CASE("a process has the name of its program in its first window") {
  Host host;
  host.put({.pid = 7, .name = "java", .words = {"java", "-Xmx1g", "org.apache.hadoop.yarn.server.nodemanager.NodeManager"}});
  host.put({.pid = 8, .name = "python3", .words = {"python3", "/opt/x/job.py"}});
  host.put({.pid = 9, .name = "sh", .words = {"sh", "-c", "sleep 1"}});
  const Lines in = {sample(7, "java"), sample(8, "python3"), sample(9, "sh"), sample(10, "sshd")};
  CHECK(host.window(in) == Lines{"process=NodeManager", "process=job.py", "process=sh", "process=sshd"});
}

TEST_CASE("without waiting, a process keeps its name until its files have been read") {
  Host host("wait = \"0s\"");
  host.put({.pid = 7, .name = "java", .words = {"java", "a.Main"}});
  CHECK(host.window({sample(7, "java")}) == Lines{"process=java"});
  host.becomes({sample(7, "java")}, {"process=Main"});
}

TEST_CASE("values that a JVM reports come first, its exact command line where they are not exact") {
  Host host;
  host.put({.pid = 7, .name = "java", .words = {"java", "@options", "argument"}});
  host.fake.say(7, 7, "kafka.Kafka server.properties");
  host.put({.pid = 8, .name = "java", .words = {"java", "-jar", "/opt/my app/an app.jar"}});
  host.fake.say(8, 8, "/opt/my app/an app.jar");
  host.put({.pid = 9, .name = "java", .words = {"java"}, .inner_pid = 1});
  host.fake.say(9, 1, "org.apache.zookeeper.server.quorum.QuorumPeerMain zoo.cfg");
  host.put({.pid = 10, .name = "java", .words = {"java", "-version"}});
  host.window({sample(7, "java"), sample(8, "java"), sample(9, "java"), sample(10, "java")});
  host.answered();
  CHECK(host.window({sample(7, "java"), sample(8, "java"), sample(9, "java"), sample(10, "java")}) ==
        Lines{"process=Kafka", "process=an app", "process=ZooKeeper", "process=java"});
}

TEST_CASE("a value that is unknown at first is requested again in later windows") {
  Host host;
  host.put({.pid = 7, .name = "java", .words = {"java", "@all"}});
  host.window({sample(7, "java")});
  host.answered();
  CHECK(host.window({sample(7, "java")}) == Lines{"process=java"});
  host.fake.say(7, 7, "a.Main");
  for (int window = 0; window < 4; ++window) {
    host.window({sample(7, "java")});
    host.answered();
  }
  CHECK(host.window({sample(7, "java")}) == Lines{"process=Main"});
}

TEST_CASE("frameworks are called by their roles, with their ids") {
  Host host;
  const std::string backend = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend";
  host.put({.pid = 7,
            .name = "java",
            .words = {"java", "org.apache.hadoop.mapred.YarnChild", "127.0.0.1", "4711", "attempt_15_0001_m_000003_0", "4"}});
  host.put({.pid = 8,
            .name = "java",
            .words = {"java", backend, "--driver-url", "spark://x", "--executor-id", "3", "--hostname", "h", "--cores", "2",
                      "--app-id", "application_1_0002"}});
  host.put({.pid = 9,
            .name = "java",
            .words = {"java", "org.apache.spark.deploy.SparkSubmit", "--master", "yarn", "--class", "com.x.Nightly", "x.jar"}});
  host.put({.pid = 10,
            .name = "java",
            .words = {"java", "org.apache.spark.deploy.SparkSubmit", "--py-files", "deps.py", "/srv/job.py", "in.py"}});
  const Lines in = {sample(7, "java"), sample(8, "java"), sample(9, "java"), sample(10, "java")};
  host.window(in);
  host.answered();
  CHECK(host.window(in) == Lines{"process=YarnChild attempt=attempt_15_0001_m_000003_0",
                                 "process=executor 3 application=application_1_0002 executor=3 job=application_1_0002",
                                 "process=driver Nightly", "process=driver job.py"});
}

TEST_CASE("an operator's rules come before the library's, or in their place") {
  Host own("rules = { { main = \"kafka.Kafka\", name = \"broker of {1:file}\" }, table.unpack(require \"atalaya.frameworks\") }");
  own.put({.pid = 7, .name = "java", .words = {"java", "kafka.Kafka", "/etc/a.properties"}});
  own.put({.pid = 8, .name = "perl", .words = {"perl", "x.pl"}});
  own.window({sample(7, "java"), sample(8, "perl")});
  own.answered();
  CHECK(own.window({sample(7, "java"), sample(8, "perl")}) == Lines{"process=broker of a.properties", "process=x.pl"});
  Host none("rules = {}");
  none.put({.pid = 7, .name = "java", .words = {"java", "a.B"}});
  none.put({.pid = 8, .name = "perl", .words = {"perl", "x.pl"}});
  none.window({sample(7, "java"), sample(8, "perl")});
  none.answered();
  CHECK(none.window({sample(7, "java"), sample(8, "perl")}) == Lines{"process=B", "process=perl"});
}

TEST_CASE("rules that cannot work are refused") {
  Bench<Names> bench(table({{"rules", [] {
                               core::Value rules;
                               rules.type = core::Value::Type::table;
                               rules.list.push_back(table({{"name", text("x")}}));
                               return rules;
                             }()}}));
  CHECK(bench.refused.find("parameter \"rules\": rule 1: set either \"main\", for JVMs, or \"interpreter\"") != std::string::npos);
}

TEST_CASE("a JVM under any name is found when it begins") {
  Host host;
  host.put({.pid = 7, .name = "shop", .words = {"/opt/shop", "com.x.Shop"}, .executable = "/usr/lib/jvm/x/bin/java"});
  host.put({.pid = 8, .name = "shop", .words = {"/opt/shop", "com.x.Shop"}, .executable = "/opt/shop"});
  host.window({sample(7, "shop"), sample(8, "shop")});
  host.answered();
  CHECK(host.window({sample(7, "shop"), sample(8, "shop")}) == Lines{"process=Shop", "process=shop"});
}

TEST_CASE("another name of the kernel's is another program") {
  Host host;
  host.put({.pid = 7, .name = "sh", .words = {"sh", "/opt/start.sh"}});
  host.window({sample(7, "sh")});
  host.answered();
  CHECK(host.window({sample(7, "sh")}) == Lines{"process=start.sh"});
  host.put({.pid = 7, .name = "java", .words = {"java", "a.Main"}, .image = 2});
  CHECK(host.window({sample(7, "java")}) == Lines{"process=Main"});
  host.answered();
  CHECK(host.window({sample(7, "java")}) == Lines{"process=Main"});
  host.put({.pid = 7, .name = "other", .words = {"other"}, .image = 3});
  CHECK(host.window({sample(7, "other")}) == Lines{"process=other"});
  host.answered();
  CHECK(host.window({sample(7, "other")}) == Lines{"process=other"});
}

TEST_CASE("a name that changed before it was read is right at once") {
  Host host;
  host.put({.pid = 7, .name = "java", .words = {"java", "a.Main"}});
  host.window({sample(7, "sh")});
  host.answered();
  CHECK(host.window({sample(7, "java")}) == Lines{"process=Main"});
}

TEST_CASE("exec of another program with the same name is noticed by its page faults") {
  Host host;
  const std::string idle = " proc.faults.minor=0", work = " proc.faults.minor=40", quiet = " proc.cpu.user=5 proc.faults.minor=9";
  host.put({.pid = 7, .name = "java", .words = {"java", "a.One"}});
  host.window({sample(7, "java", idle)});
  host.answered();
  host.put({.pid = 7, .name = "java", .words = {"java", "a.Two"}, .image = 2});
  host.window({sample(7, "java", idle)});
  host.window({sample(7, "java", quiet)});
  host.answered();
  CHECK(host.window({sample(7, "java", work)}) == Lines{"process=One"});
  host.answered();
  CHECK(host.window({sample(7, "java", idle)}) == Lines{"process=Two"});
}

TEST_CASE("a process that ends keeps its name and its place") {
  Host host("tags = { \"slice\" }");
  const std::string work = " proc.faults.minor=40";
  Process process{.pid = 7, .name = "java", .words = {"java", "a.One"}, .cgroup = "0::/jobs.slice/one.service\n"};
  host.put(process);
  host.window({sample(7, "java", work)});
  host.answered();
  process.words.clear();
  process.image = -1000;  // no memory
  process.executable = "/nowhere";
  process.cgroup = "0::/\n";
  host.put(process);
  for (int i = 0; i < 3; ++i) {
    CHECK(host.window({sample(7, "java", work)}) == Lines{"process=One slice=jobs.slice"});
    host.answered();
  }
}

TEST_CASE("a process in a container of YARN without a cgroup has its application as job") {
  Host host("tags = { \"job\" }");
  host.put({.pid = 7,
            .name = "python3",
            .words = {"python3", "-m", "pyspark.daemon"},
            .working_directory = "/data/appcache/application_15_0001/container_15_0001_01_000002"});
  host.put({.pid = 8, .name = "python3", .words = {"python3", "x.py"}, .working_directory = "/data"});
  CHECK(host.window({sample(7, "python3"), sample(8, "python3")}) ==
        Lines{"process=pyspark.daemon job=application_15_0001", "process=x.py"});
}

namespace {

// An executor of Spark with Python: java starts the daemon, which forks the workers; a worker starts a shell.
void put_executor(const Host &host, int pid, const std::string &number) {
  host.put(
      {.pid = pid,
       .name = "java",
       .words = {"java", "org.apache.spark.executor.CoarseGrainedExecutorBackend", "--executor-id", number, "--app-id", "app-1"}});
  host.put({.pid = pid + 1, .name = "python3", .words = {"python3", "-m", "pyspark.daemon"}, .start_ticks = 110, .parent = pid});
  host.put(
      {.pid = pid + 2, .name = "python3", .words = {"python3", "-m", "pyspark.daemon"}, .start_ticks = 120, .parent = pid + 1});
  host.put({.pid = pid + 3, .name = "gzip", .words = {"gzip"}, .start_ticks = 130, .parent = pid + 2});
}

const std::string kOfExecutor = " application=app-1 executor=3 job=app-1";

}  // namespace

TEST_CASE("the descendants of an executor have its application, whichever program they run and in whichever order they come") {
  for (const std::string parameters : {"", "tags = { \"unit\" }"}) {
    Host host(parameters);
    put_executor(host, 20, "3");
    host.put({.pid = 5, .name = "gzip", .words = {"gzip"}});
    Lines in = {sample(20, "java"), sample(21, "python3"), sample(22, "python3"), sample(23, "gzip"), sample(5, "gzip")};
    Lines out = {"process=executor 3" + kOfExecutor, "process=pyspark.daemon" + kOfExecutor, "process=pyspark.daemon" + kOfExecutor,
                 "process=gzip" + kOfExecutor, "process=gzip"};
    if (parameters.empty()) {
      std::reverse(in.begin(), in.end());
      std::reverse(out.begin(), out.end());
    }
    CHECK(host.window(in) == out);
    CHECK(host.window(in) == out);
  }
}

TEST_CASE("ended children of one process have its application, in its first window, too") {
  Host host("tags = { \"unit\" }");
  put_executor(host, 20, "3");
  host.put({.pid = 5, .name = "python3", .words = {"python3", "x.py"}});
  const std::string ended = "process=python3 parent=python3 cgroup=/a.service ", exits = "| proc.exits=3i";
  const Lines in = {sample(5, "python3"),
                    sample(21, "python3"),
                    ended + "parent.pid=21 " + exits,
                    ended + "parent.pid=5 " + exits,
                    ended + "parent.pid=6 " + exits,
                    ended + exits};
  const std::string unit = " unit=a.service";
  const Lines out = {"process=x.py",
                     "process=pyspark.daemon" + kOfExecutor,
                     ended + "parent.pid=21" + kOfExecutor + unit,
                     ended + "parent.pid=5" + unit,
                     ended + "parent.pid=6" + unit,
                     ended.substr(0, ended.size() - 1) + unit};
  CHECK(host.window(in) == out);
  CHECK(host.window(in) == out);
}

TEST_CASE("a descendant with tags of its own has those") {
  Host host;
  put_executor(host, 20, "3");
  host.put({.pid = 30,
            .name = "java",
            .words = {"java", "org.apache.spark.executor.CoarseGrainedExecutorBackend", "--executor-id", "0", "--app-id", "app-2"},
            .start_ticks = 140,
            .parent = 22});
  host.put({.pid = 31, .name = "sh", .words = {"sh", "x.sh"}, .start_ticks = 150, .parent = 30});
  const std::string inner = " application=app-2 executor=0 job=app-2";
  CHECK(host.window({sample(30, "java"), sample(31, "sh")}) == Lines{"process=executor 0" + inner, "process=x.sh" + inner});
}

TEST_CASE("inherited tags outlive the ancestors and a change of the program") {
  Host host;
  put_executor(host, 20, "3");
  host.window({sample(22, "python3")});
  for (const int ended : {20, 21}) std::filesystem::remove_all(host.fake.folder(ended));
  host.put({.pid = 22, .name = "sh", .words = {"sh", "x.sh"}, .image = 2, .start_ticks = 120});
  host.put({.pid = 24, .name = "gzip", .words = {"gzip"}, .start_ticks = 140, .parent = 22});
  const Lines in = {sample(22, "sh"), sample(24, "gzip")};
  CHECK(host.window(in) == Lines{"process=x.sh" + kOfExecutor, "process=gzip" + kOfExecutor});
  // It ends: its files are gone before its last sample, under another name.
  std::filesystem::remove_all(host.fake.folder(22));
  CHECK(host.window({sample(22, "python3")}) == Lines{"process=python3" + kOfExecutor});
}

TEST_CASE("a later process with the pid of the parent is no ancestor") {
  Host host;
  put_executor(host, 20, "3");
  host.put({.pid = 30, .name = "gzip", .words = {"gzip"}, .start_ticks = 99, .parent = 20});
  CHECK(host.window({sample(30, "gzip")}) == Lines{"process=gzip"});
}

TEST_CASE("sources that know the start of a process to a tick mean the same process") {
  Host host("wait = \"0s\"");
  host.put({.pid = 7, .name = "java", .words = {"java", "a.One"}});
  const std::string exact = "pid=7 process=java | proc.start.time=1699999999001655209i", tick = sample(7, "java");
  host.becomes({exact, tick}, {"process=One", "process=One"});
  for (int i = 0; i < 3; ++i) CHECK(host.window({tick, exact, tick}) == Lines{"process=One", "process=One", "process=One"});
}

TEST_CASE("a limited number is checked again in a window, the others in turn") {
  Host host("recheck = 2");
  const std::string idle = " proc.cpu.user=0 proc.faults.minor=0", work = " proc.cpu.user=1 proc.faults.minor=40";
  Lines before, after, at_rest, busy;
  for (int pid = 1; pid <= 5; ++pid) {
    host.put({.pid = pid, .name = "java", .words = {"java", "a.Old"}});
    at_rest.push_back(sample(pid, "java", idle));
    busy.push_back(sample(pid, "java", work));
  }
  host.window(at_rest);
  host.answered();
  for (int pid = 1; pid <= 5; ++pid) host.put({.pid = pid, .name = "java", .words = {"java", "a.New"}, .image = 2});
  const auto renamed = [&](const Lines &in) {
    const Lines tags = host.window(in);
    host.answered();
    return std::count(tags.begin(), tags.end(), "process=New");
  };
  CHECK(renamed(busy) == 0);
  CHECK(renamed(at_rest) == 2);
  CHECK(renamed(at_rest) == 4);
  CHECK(renamed(at_rest) == 5);
}

TEST_CASE("a reused pid is another process") {
  Host host;
  host.put({.pid = 7, .name = "java", .words = {"java", "a.One"}});
  host.window({sample(7, "java")});
  host.answered();
  host.put({.pid = 7, .name = "java", .words = {"java", "a.Two"}});
  const std::string reused = "pid=7 process=java | proc.start.time=1700000001000000000i";
  CHECK(host.window({reused}) == Lines{"process=Two"});
  host.answered();
  CHECK(host.window({reused}) == Lines{"process=Two"});
  // Samples without the start of their process belong to the known one.
  CHECK(host.window({"pid=7 process=java | net.x=1"}) == Lines{"process=Two"});
}

TEST_CASE("a process that began after its request is not the same one") {
  Host host;
  host.put({.pid = 7, .name = "java", .words = {"java", "a.Late"}, .start_ticks = 2'000'000'000});
  host.window({sample(7, "java")});
  host.answered();
  CHECK(host.window({sample(7, "java")}) == Lines{"process=java"});
}

TEST_CASE("odd names survive as they are") {
  Host host;
  const Lines scripts = {
      "a b.py", "new\nline.py", "q\"uo'te.py", "(paren) x.py", "\xc3\xa9t\xc3\xa9\xff.py", std::string(200, 'x') + ".py"};
  Lines in, out;
  for (size_t i = 0; i < scripts.size(); ++i) {
    const int pid = static_cast<int>(i) + 1;
    host.put({.pid = pid, .name = "python3", .words = {"python3", "/opt/" + scripts[i]}});
    in.push_back(sample(pid, "python3"));
    out.push_back("process=" + scripts[i]);
  }
  host.window(in);
  host.answered();
  CHECK(host.window(in) == out);
}

TEST_CASE("a sample of no process of this host passes unchanged") {
  Host host;
  const Lines odd = {"process=java | x.y=1",
                     "pid=7 | x.y=1",
                     "pid=0 process=java | x.y=1",
                     "pid=-7 process=java | x.y=1",
                     "pid=7x process=java | x.y=1",
                     "pid=99999999999 process=java | x.y=1",
                     "disk=sda | x.y=1",
                     "| x.y=1"};
  CHECK(host.bench.process(odd) == odd);
  CHECK(host.bench.process({}).empty());
  host.window({sample(7, "java")});  // not there
  host.answered();
  CHECK(host.window({sample(7, "java")}) == Lines{"process=java"});
}

TEST_CASE("tags that other samples share are left alone") {
  Host host;
  host.put({.pid = 7, .name = "java", .words = {"java", "a.B"}});
  host.window({sample(7, "java")});
  host.answered();
  host.bench.batch.clear();
  host.bench.add("pid=7 process=java | x.y=1");
  host.bench.add("| x.y=1");
  auto *samples = host.bench.batch.raw().samples;
  samples[0].capacity = samples[1].capacity = 0;
  samples[1].tags = samples[0].tags;
  samples[1].tag_count = 1;
  host.bench.run(1);
  CHECK(host.bench.lines() == Lines{"pid=7 process=B | x.y=1", "pid=7 | x.y=1"});
}

TEST_CASE("the stored processes are bounded, reported once, and removed") {
  Host host("cache = 2, forget = 3");
  for (int pid = 1; pid <= 3; ++pid) host.put({.pid = pid, .name = "java", .words = {"java", "a.B"}});
  const Lines in = {sample(1, "java"), sample(2, "java"), sample(3, "java")};
  host.window(in);
  CHECK(host.becomes(in, {"process=B", "process=B", "process=java"}));
  host.window(in);
  const std::string &logged = host.bench.surroundings.logged;
  CHECK(logged.find("raise the parameter cache") != std::string::npos);
  CHECK(logged.find("raise the parameter cache") == logged.rfind("raise the parameter cache"));
  for (int i = 0; i < 40; ++i) host.window({in[0]});
  host.window({in[0], in[2]});
  CHECK(host.becomes({in[0], in[2]}, {"process=B", "process=B"}));
}

TEST_CASE("tags show where a process runs") {
  Host host("tags = { \"container\", \"runtime\", \"unit\", \"slice\" }");
  const std::string id(64, 'a');
  host.put({.pid = 7, .name = "sshd", .words = {"sshd"}, .cgroup = "0::/system.slice/ssh.service\n"});
  host.put({.pid = 8, .name = "java", .words = {"java", "a.B"}, .cgroup = "0::/system.slice/docker-" + id + ".scope\n"});
  const Lines in = {sample(7, "sshd"), sample(8, "java")};
  host.window(in);
  CHECK(host.becomes(in, {"process=sshd unit=ssh.service slice=system.slice",
                          "process=B container=aaaaaaaaaaaa runtime=docker unit=docker-" + id + ".scope slice=system.slice"}));
  // It moves, which nothing reports.
  host.put({.pid = 7, .name = "sshd", .words = {"sshd"}, .cgroup = "0::/user.slice/user-1.slice/session-2.scope\n"});
  host.window(in);
  CHECK(host.becomes({in[0]}, {"process=sshd unit=session-2.scope slice=user-1.slice"}));
}

TEST_CASE("processes that have ended get the tags of their cgroup in its first window, whichever their name") {
  Host host("tags = { \"container\", \"unit\" }");
  const std::string id(64, 'a');
  const std::string docker = " cgroup=/system.slice/docker-" + id + ".scope";
  const Lines in = {"process=true parent=sh" + docker + " | proc.exits=3i", "process=sh parent=cron" + docker + " | proc.exits=1i",
                    "process=sshd cgroup=/system.slice/ssh.service | proc.exits=1i", "process=irq | proc.cpu.kernel=1",
                    "cgroup=/system.slice/ssh.service | cgroup.cpu.user=1"};
  const std::string tags = docker + " container=aaaaaaaaaaaa unit=docker-" + id + ".scope";
  CHECK(host.window(in) == Lines({"process=true parent=sh" + tags, "process=sh parent=cron" + tags,
                                  "process=sshd cgroup=/system.slice/ssh.service unit=ssh.service", "process=irq",
                                  "cgroup=/system.slice/ssh.service"}));
}

TEST_CASE("a container whose name comes late is named with its processes that have ended, too") {
  Host host("tags = { \"container\" }");
  const std::string id(64, 'a');
  const std::string path = "cgroup=/system.slice/docker-" + id + ".scope";
  const Lines in = {"process=true " + path + " | proc.exits=3i"};
  host.window(in);
  REQUIRE(host.becomes(in, {"process=true " + path + " container=aaaaaaaaaaaa"}));
  const std::string folder = host.fake.root() + "/var/lib/docker/containers/" + id;
  std::filesystem::create_directories(folder);
  FakeProcesses::write(folder + "/config.v2.json", "{\"ID\":\"" + id + "\",\"Name\":\"/web\"}");
  const Lines named = {"process=true " + path + " container=web"};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  Lines got;
  while (got != named && std::chrono::steady_clock::now() < until) got = host.window(in);
  CHECK(got == named);
}

TEST_CASE("the cgroups of ended processes that are kept are bounded") {
  Host host("tags = { \"unit\" }, cache = 1");
  const Lines in = {"process=a cgroup=/a.service | proc.exits=1i", "process=b cgroup=/b.service | proc.exits=1i"};
  host.window(in);
  CHECK(host.becomes(in, {"process=a cgroup=/a.service unit=a.service", "process=b cgroup=/b.service"}));
  CHECK(host.bench.surroundings.logged.find("raise the parameter cache") != std::string::npos);
}

TEST_CASE("names allocates nothing in steady state") {
  Host host;
  Lines in;
  for (int pid = 1; pid <= 300; ++pid) {
    const std::string name = pid % 10 == 0 ? "java" : pid % 10 == 1 ? "python3" : "worker";
    host.put({.pid = pid, .name = name, .words = {name, "a.VeryLongNameOfAMainClassThatIsNotStoredInPlace"}});
    in.push_back(sample(pid, name, " proc.cpu.user=1 proc.faults.minor=40"));
  }
  uint64_t total = 0;
  for (int window = 0; window < 140; ++window) {
    host.bench.batch.clear();
    for (const std::string &line : in) host.bench.add(line, kWindowTime + window * kSecond);
    const uint64_t before = allocations();
    host.bench.run(window);
    if (window >= 20) total += allocations() - before;
    host.answered();  // so that waiting requests do not pile up, as windows here follow each other at once
  }
  CHECK(total == 0);
}

}  // namespace atalaya::testing
