// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/translators/names/names_params.h"
#include "plugins/translators/names/resolve/known_cgroups.h"
#include "plugins/translators/names/resolve/known_processes.h"
#include "plugins/translators/names/resolve/resolver_thread.h"
#include "plugins/translators/names/resolve/start_watch.h"
#include "plugins/translators/names/resolve/started_programs.h"

namespace atalaya::names {

// Names processes by the programs that they run. A separate thread reads the files of processes: of those that start a program when
// they do, if the kernel reports it, and of all others at the end of their first window. `process` waits for the names of new
// processes for a limited time; a process without a result then keeps its original name and gets the derived name in a later
// window.
class Names final : public Translator {
 public:
  static constexpr Description description = {.name = "names"_str,
                                              .summary = "Name processes by main class, framework, script or container"_str,
                                              .params = kNamesParams,
                                              .needs = kNamesNeeds};

  explicit Names(Host host);
  void start() override;
  void stop() override;
  Code process(const Window &window, Batch &batch) override;

 private:
  // The last position of a tag or field. The next search starts there, because the samples of a batch have a similar layout.
  struct Position {
    uint32_t id = 0, at = 0;
  };
  static const atalaya_tag *find_tag(const Sample &sample, Position &tag);
  static const atalaya_field *find_field(const Sample &sample, Position &field);

  void watch_starts();
  void ask_started(std::span<const procfs::StartEvent> events) noexcept;
  bool may_have_name_or_tags(const procfs::StartEvent &event);
  void begin(const Window &window);
  void apply_answers();
  void mark_unresponsive(const Question &question);
  void apply(Answer &answer);
  void apply_to_started(Answer &answer);
  KnownProcess *process_of(const Answer &answer);
  void store(KnownProcess &process, Answer &answer);
  void store_program(Known &known, Answer &answer) const;
  std::vector<ExtraTag> tags_of(Tags &tags) const;
  void store_places(std::vector<ExtraTag> &tags, Answer &answer) const;
  void apply_to_cgroup(Answer &answer);

  void visit(Batch &batch, Sample &sample);
  void visit_ended(Batch &batch, Sample &sample);
  void visit_children(Batch &batch, Sample &sample);
  void assign_new_ids(Batch &batch);
  void apply_new_name(Batch &batch, Sample &sample);
  KnownProcess *add_unknown(int32_t pid, std::string_view name, int64_t start_ns);
  KnownProcess *add(int32_t pid, uint32_t name, Rules::Kind kind, int64_t start_ns);
  const StartedProgram *started(int32_t pid, int64_t start_ns) const;
  void use_started(KnownProcess &process);
  void forget_ended();
  void check_process(KnownProcess &process, const Sample &sample, std::string_view name, int64_t start_ns);
  void update_name(KnownProcess &process, std::string_view name) const;
  bool may_have_changed(const Sample &sample);
  void warn_full();
  static void set_tag(Batch &batch, Sample &sample, uint32_t key, std::string_view value);
  static void add_tags(Batch &batch, Sample &sample, const std::vector<ExtraTag> &tags);
  static void rename(Batch &batch, Sample &sample, uint32_t process_key, const Known &known);

  void choose_rechecks();
  template <class Wanted>
  void recheck(int32_t &last_pid, Wanted wanted);
  void ask(const KnownProcess &process, uint64_t image);
  void request_all();

  Host host_;
  std::string root_;
  std::shared_ptr<const Rules> rules_;
  std::vector<uint32_t> rule_tags_;                       // keys of Rules::tags
  std::array<uint32_t, kPlaceTags.size()> place_tags_{};  // keys; 0: not selected
  bool wants_places_ = false;
  size_t rechecks_;
  uint32_t forget_;
  int64_t wait_ns_;
  KnownProcesses processes_;
  KnownCgroups cgroups_;
  StartedPrograms started_;
  std::shared_ptr<Families> families_;
  ResolverThread thread_;
  StartWatch start_watch_;  // asks the thread: stopped before it
  Position pid_, process_, parent_, cgroup_, start_, faults_;

  uint32_t window_ = 0;
  uint64_t response_rounds_ = 0;  // number of reads of answers
  int64_t window_time_ns_ = 0, last_time_ns_ = 0;
  int64_t boot_time_ns_ = 0;       // Unix time
  int64_t requested_ns_ = 0;       // CLOCK_BOOTTIME at the start of the collection of this batch
  size_t remaining_rechecks_ = 0;  // in this window
  bool any_suspect_ = false;
  int32_t last_suspect_ = 0, last_rechecked_ = 0;  // pids of the last rechecked processes
  std::vector<Question> questions_;
  std::vector<Answer> answers_;
  bool hang_logged_ = false, full_logged_ = false;
};

}  // namespace atalaya::names
