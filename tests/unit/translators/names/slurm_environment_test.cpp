// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/slurm_environment.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "plugins/translators/names/resolve/resolver.h"
#include "tests/unit/translators/names/fake_processes.h"

namespace atalaya::testing {

using namespace names;

namespace {

std::string variables(std::initializer_list<std::string_view> list) {
  std::string text;
  for (const std::string_view one : list) text.append(one).append(1, '\0');
  return text;
}

}  // namespace

TEST_CASE("the environment of a job's process") {
  struct Case {
    std::string text;
    const char *job, *step, *user;
  };
  const Case cases[] = {
      {variables({"HOME=/root", "SLURM_JOB_ID=42", "SLURM_STEP_ID=0", "SLURM_JOB_UID=1000"}), "42", "0", "1000"},
      {variables({"SLURM_JOB_ID=42", "SLURM_STEP_ID=4294967291"}), "42", "batch", ""},
      {variables({"SLURM_JOB_ID=42", "SLURM_STEP_ID=4294967292"}), "42", "extern", ""},
      {variables({"SLURM_JOB_ID=42", "SLURM_STEP_ID=4294967290"}), "42", "interactive", ""},
      {variables({"SLURM_JOB_ID=42", "SLURM_STEP_ID=$(id)"}), "42", "", ""},
      {variables({"SLURM_JOB_ID=42"}), "42", "", ""},
  };
  for (const Case &one : cases) {
    CAPTURE(one.text);
    const auto found = slurm_job_in(one.text);
    REQUIRE(found);
    CHECK(found->job == one.job);
    CHECK(found->step == one.step);
    CHECK(found->user == one.user);
  }
}

TEST_CASE("other environments name no job") {
  for (const std::string &text : {std::string(), variables({"SLURM_JOB_ID="}), variables({"SLURM_JOB_ID=4 2"}),
                                  variables({"SLURM_JOB_ID=-1"}), variables({"XSLURM_JOB_ID=42", "SLURM_JOB_ID"}),
                                  variables({"SLURM_JOB_ID=" + std::string(21, '1')}), std::string("SLURM_JOB_ID=42")})  // cut
    CHECK_FALSE(slurm_job_in(text));
}

TEST_CASE("the environment counts where the cgroup has no job, and only if it is permitted") {
  const FakeProcesses fake;
  const std::string environment = variables({"SLURM_JOB_ID=7", "SLURM_JOB_UID=1000"});
  fake.put({.pid = 7, .name = "app", .environment = environment});
  fake.put({.pid = 8,
            .name = "app",
            .cgroup = "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n",
            .environment = environment});
  const auto rules = std::make_shared<const Rules>(std::move(*Rules::make({})));
  const auto job_of = [&](int32_t pid, bool permitted) {
    Resolver resolver(rules, {.root = fake.root(), .places = true, .job_environment = permitted});
    const Answer answer = resolver.answer({.pid = pid, .requested_ns = INT64_MAX});
    CHECK(answer.found);
    return answer.places[kJob] + "/" + answer.places[kJobStep] + "/" + answer.places[kJobUser];
  };
  CHECK(job_of(7, false) == "//");
  CHECK(job_of(7, true) == "7//1000");
  CHECK(job_of(8, true) == "42/0/");
  CHECK(kPlaceTags[kJob] == "job");
  CHECK(kPlaceTags[kJobStep] == "job.step");
  CHECK(kPlaceTags[kJobUser] == "job.user");
}

}  // namespace atalaya::testing
