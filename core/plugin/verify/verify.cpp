// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/verify/verify.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/files.h"
#include "core/plugin/describe/declared.h"
#include "core/plugin/instance.h"
#include "core/plugin/verify/scratch_folder.h"

namespace atalaya::core {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr int64_t kSecond = 1000000000;

// A folder for one step, with a file.
class WorkFolder : public ScratchFolder {
 public:
  WorkFolder() : ScratchFolder("atalaya-verify-") { std::ofstream(path() + "/file").flush(); }
};

// Surroundings that store the emitted samples of a component.
class Recorder : public Surroundings {
 public:
  explicit Recorder(std::string folder) : folder_(std::move(folder)) {}
  void log(LogLevel, std::string_view) override {}
  BatchOwner new_batch() override { return std::make_unique<Batch>(); }
  int32_t emit(BatchOwner batch, uint64_t &id) override {
    static constexpr size_t kEnough = 100;
    const std::lock_guard lock(mutex_);
    id = ++ids_;
    if (emitted_.size() < kEnough) emitted_.push_back(std::move(batch));
    return ATALAYA_OK;
  }
  std::optional<std::string> state_dir() override { return folder_; }

  std::vector<BatchOwner> take() {
    const std::lock_guard lock(mutex_);
    return std::move(emitted_);
  }

 private:
  std::string folder_;
  std::mutex mutex_;
  std::vector<BatchOwner> emitted_;
  uint64_t ids_ = 0;
};

// One instance in surroundings of its own. Everything is shared with the thread of a run that may never return.
struct Subject {
  WorkFolder folder;
  Recorder recorder{folder.path()};
  Symbols symbols;
  std::unique_ptr<Instance> instance;
};

std::string name_of(const atalaya_component &component) {
  return std::string(kind_name(component.kind)) + " \"" + text_of(component.name) + "\"";
}

std::string failure(const char *operation, const Outcome &outcome) {
  return std::string(operation) + ": " + outcome.text;
}

// Creates the component with these parameters. Returns the error, or "".
std::string create_in(Subject &subject, const Registry::Component &component, const Value &written) {
  declare_metrics(*component.component, subject.symbols);
  std::vector<Problem> problems;
  Parameters parameters = Parameters::resolve(schema_of(*component.component), written, problems);
  if (!problems.empty()) return "parameter \"" + problems[0].path + "\": " + problems[0].text;
  auto made = Instance::create(component, std::move(parameters), name_of(*component.component), subject.symbols, subject.recorder);
  if (!made) return made.error();
  subject.instance = std::move(*made);
  return {};
}

atalaya_window window_at(int64_t time_ns, int64_t monotonic_ns, bool baseline) {
  atalaya_window window{};
  window.struct_size = sizeof(window);
  window.flags = baseline ? ATALAYA_WINDOW_BASELINE : 0;
  window.time_ns = time_ns;
  window.duration_ns = baseline ? 0 : kSecond;
  window.interval_ns = kSecond;
  window.monotonic_ns = monotonic_ns;
  return window;
}

// Samples of each kind; the names used are added to `known`.
void fill(Batch &batch, Symbols &symbols, int64_t time_ns, std::set<std::string> &known) {
  for (const uint32_t kind : {uint32_t{ATALAYA_METRICS}, uint32_t{ATALAYA_STACK}, uint32_t{ATALAYA_SPAN}}) {
    for (const int64_t number : {1, 2}) {
      atalaya_sample &sample = batch.add_sample(kind);
      sample.time_ns = time_ns;
      sample.duration_ns = kSecond;
      if (kind != ATALAYA_METRICS) sample.text = batch.copy("main;work");
      batch.add_tag(sample, symbols.intern("host"), "here");
      batch.add_tag(sample, symbols.intern("pid"), std::to_string(number));
      atalaya_field measurement{symbols.intern("proc.cpu.user"), ATALAYA_F64, {}};
      measurement.value.f64 = 0.5 * static_cast<double>(number);
      batch.add_field(sample, measurement);
      atalaya_field count{symbols.intern("proc.threads"), ATALAYA_I64, {}};
      count.value.i64 = number;
      batch.add_field(sample, count);
    }
  }
  known.insert({"host", "pid", "proc.cpu.user", "proc.threads", "sample"});
}

class Verifier {
 public:
  explicit Verifier(Registry::Component component) : component_(std::move(component)) {}

  std::optional<Finding> run(std::string_view name) {
    if (name == kVerifySteps[0]) describe();
    if (name == kVerifySteps[1]) step(name, [](Subject &) { return std::string(); });
    if (name == kVerifySteps[2]) step(name, [](Subject &subject) { return expect_ok("stop", subject.instance->stop()); });
    if (name == kVerifySteps[3])
      step(name, [this](Subject &subject) {
        return started(subject, [&subject] { return expect_ok("the second stop", subject.instance->stop()); });
      });
    if (name == kVerifySteps[4])
      step(name, [this](Subject &subject) { return started(subject, [this, &subject] { return work(subject); }); });
    if (name == kVerifySteps[5]) unusable_path();
    return std::move(finding_);
  }

 private:
  const atalaya_component &described() const { return *component_.component; }

  void note(std::string_view step, std::string problem, std::string remark = {}) {
    finding_ = Finding{name_of(described()), std::string(step), std::move(problem), std::move(remark)};
  }

  void describe() {
    std::string problems;
    for (const std::string &problem : description_problems(described())) problems += (problems.empty() ? "" : "; ") + problem;
    note(kVerifySteps[0], problems);
  }

  // Creates a new instance with the required parameters; if that fails, with all parameters.
  std::string create(Subject &subject) {
    std::string error = create_in(subject, component_, sample_parameters(described(), subject.folder.path(), false));
    if (error.empty()) return error;
    return create_in(subject, component_, sample_parameters(described(), subject.folder.path(), true)).empty() ? "" : error;
  }

  template <class Body>
  void step(std::string_view name, Body &&body) {
    auto subject = std::make_shared<Subject>();
    std::string problem = create(*subject);
    if (problem.empty()) problem = body(*subject);
    if (abandoned_) stuck().push_back(subject);
    note(name, std::move(problem), remark_);
  }

  // Starts, runs the body, stops. A step that the host does not support is not a failure of the plugin.
  template <class Body>
  std::string started(Subject &subject, Body &&body) {
    const Outcome start = subject.instance->start();
    if (start.code == ATALAYA_UNSUPPORTED) {
      remark_ = "not tried, this host cannot do it: " + start.text;
      return expect_ok("stop", subject.instance->stop());
    }
    if (start.code != ATALAYA_OK) return failure("start", start);
    std::string problem = body();
    if (abandoned_) return problem;
    const std::string stopped = expect_ok("stop", subject.instance->stop());
    return problem.empty() ? stopped : problem;
  }

  static std::string expect_ok(const char *operation, const Outcome &outcome) {
    return outcome.ok() ? std::string() : failure(operation, outcome);
  }

  std::string work(Subject &subject) {
    switch (described().kind) {
      case ATALAYA_SOURCE:
        return (described().flags & ATALAYA_PUSH) != 0 ? push(subject) : pull(subject);
      case ATALAYA_SINK:
        return write(subject);
      case ATALAYA_COMMAND:
        return {};  // commands are not run
      default:
        return process(subject);
    }
  }

  std::string pull(Subject &subject) {
    const Declared declared(described());
    const int64_t now = subject.recorder.now(ATALAYA_CLOCK_REALTIME), monotonic = subject.recorder.now(ATALAYA_CLOCK_MONOTONIC);
    for (const int64_t second : {0, 1}) {
      Batch batch;
      const Outcome outcome =
          subject.instance->collect(window_at(now + second * kSecond, monotonic + second * kSecond, second == 0), batch);
      if (outcome.code == ATALAYA_UNSUPPORTED) return remark_ = "not tried, this host cannot do it: " + outcome.text, std::string();
      if (outcome.code > ATALAYA_END && outcome.code != ATALAYA_RETRY) return failure("collect", outcome);
      if (auto problem = compare(declared, batch.raw(), subject.symbols, {}); !problem.empty()) return problem;
    }
    return {};
  }

  // Interrupts the run when it waits, as the engine does at a stop.
  std::string push(Subject &subject) {
    std::promise<pid_t> thread_id;
    std::packaged_task<Outcome()> task([&] {
      thread_id.set_value(::gettid());
      return subject.instance->run();
    });
    auto thread_is = thread_id.get_future();
    auto answer = task.get_future();
    std::thread thread(std::move(task));
    wait_until_blocked(thread_is.get(), answer);
    subject.instance->interrupt();
    if (answer.wait_for(kPatience) != std::future_status::ready) {
      thread.detach();
      abandoned_ = true;
      return "run did not return within 10 s of interrupt; make interrupt wake it";
    }
    thread.join();
    const Outcome outcome = answer.get();
    if (outcome.code > ATALAYA_END && outcome.code != ATALAYA_UNSUPPORTED) return failure("run", outcome);
    const Declared declared(described());
    for (const BatchOwner &batch : subject.recorder.take())
      if (auto problem = compare(declared, batch->raw(), subject.symbols, {}); !problem.empty()) return problem;
    return {};
  }

  // Waits until the kernel reports that the thread sleeps, the run has ended, or the timeout is over.
  static void wait_until_blocked(pid_t thread, const std::future<Outcome> &answer) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (answer.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready) return;
      const auto text = read_file(path, 4096);
      if (text && text.value().find(") S ") != std::string::npos) return;
    }
  }

  std::string process(Subject &subject) {
    const Declared declared(described());
    const int64_t now = subject.recorder.now(ATALAYA_CLOCK_REALTIME), monotonic = subject.recorder.now(ATALAYA_CLOCK_MONOTONIC);
    for (const int64_t second : {0, 1, 2}) {
      Batch batch;
      std::set<std::string> known;
      if (second > 0) fill(batch, subject.symbols, now, known);
      const Outcome outcome =
          subject.instance->process(window_at(now + second * kSecond, monotonic + second * kSecond, second == 0), batch);
      if (!outcome.ok()) return failure(second == 0 ? "process with an empty batch" : "process", outcome);
      if (auto problem = compare(declared, batch.raw(), subject.symbols, known); !problem.empty()) return problem;
    }
    return {};
  }

  std::string write(Subject &subject) {
    Batch batch;
    std::set<std::string> known;
    for (const bool empty : {true, false}) {
      if (!empty) fill(batch, subject.symbols, subject.recorder.now(ATALAYA_CLOCK_REALTIME), known);
      int64_t retry_after_ns = 0;
      const Outcome outcome = subject.instance->write(batch.raw(), retry_after_ns);
      if (!outcome.ok() && outcome.code != ATALAYA_RETRY) return failure(empty ? "write of an empty batch" : "write", outcome);
    }
    const Outcome outcome = subject.instance->flush(subject.recorder.now(ATALAYA_CLOCK_MONOTONIC) + kSecond);
    return outcome.ok() || outcome.code == ATALAYA_RETRY ? std::string() : failure("flush", outcome);
  }

  static std::string compare(const Declared &declared, const atalaya_batch &batch, const Symbols &symbols,
                             const std::set<std::string> &known) {
    std::string problem;
    for (const std::string &difference : declared.differences(batch, symbols, known))
      problem += (problem.empty() ? "" : "; ") + difference;
    return problem;
  }

  // Files that cannot be opened: the component must return an error message, and its destruction must work.
  void unusable_path() {
    auto subject = std::make_shared<Subject>();
    const Value written = sample_parameters(described(), subject->folder.path() + "/file/beneath-a-file", false);
    if (written == sample_parameters(described(), subject->folder.path(), false)) return;
    create_in(*subject, component_, written);
    if (subject->instance == nullptr) return note(kVerifySteps[5], "");  // create has already reported the error
    const Outcome start = subject->instance->start();
    note(kVerifySteps[5],
         start.ok() || !start.text.empty() ? expect_ok("stop", subject->instance->stop()) : "failed without a sentence");
  }

  // Subjects whose thread hangs; they are never destroyed.
  static std::vector<std::shared_ptr<Subject>> &stuck() {
    static auto *subjects = new std::vector<std::shared_ptr<Subject>>;
    return *subjects;
  }

  Registry::Component component_;
  std::optional<Finding> finding_;
  std::string remark_;
  bool abandoned_ = false;
};

}  // namespace

std::string line_of(const Finding &finding) {
  const char *word = !finding.problem.empty() ? "FAILED   " : finding.remark.empty() ? "ok       " : "skipped  ";
  const std::string &why = finding.problem.empty() ? finding.remark : finding.problem;
  return word + finding.component + ": " + finding.step + (why.empty() ? "" : ": " + why);
}

std::vector<Finding> verify_plugin(const std::shared_ptr<const Plugin> &plugin) {
  std::vector<Finding> findings;
  for (const atalaya_component *component : plugin->components()) {
    for (const std::string_view step : kVerifySteps) {
      auto finding = verify_step({plugin, component}, step);
      if (finding) findings.push_back(std::move(*finding));
      if (finding && is_final(findings.back())) break;
    }
  }
  return findings;
}

std::optional<Finding> verify_step(const Registry::Component &component, std::string_view step) {
  return Verifier(component).run(step);
}

bool is_final(const Finding &finding) {
  return !finding.problem.empty() && (finding.step == kVerifySteps[0] || finding.step == kVerifySteps[1]);
}

}  // namespace atalaya::core
