// SPDX-License-Identifier: Apache-2.0
// Parameters and needs of the translator "names".
#pragma once

#include <atalaya/plugin.hpp>

#include <vector>

#include "plugins/translators/names/rules.h"

namespace atalaya::names {

inline constexpr Param kPattern[] = {param::string("", "A pattern")};
inline constexpr Param kOption[] = {param::string("", "An option")};
inline constexpr Param kTag[] = {param::string("", "A tag")};
inline constexpr Param kText[] = {param::string("", "A text with values in it")};
inline constexpr Param kPlaceTag[] = {param::choice(
    "tag", "container|runtime|pod|namespace|project|service|unit|slice|job|job.step|job.user|workload", "An extra tag")};

inline constexpr Param kRuleMembers[] = {
    param::list("main", kPattern, "Patterns for the main class of a JVM, or the file of its jar"),
    param::list("arguments", kPattern, "Patterns for the arguments, joined by blanks"),
    param::map("option", kOption, "Values for name and tags: { value = \"--option\" } is the argument after the option"),
    param::map("argument", kPattern,
               "Values for name and tags: { value = \"pattern\" } is the first matching argument of no option"),
    param::string("name", "Name of the process, such as \"executor {value}\"; the rule applies only if all its values exist"),
    param::map("tags", kText, "Tags to add, { tag = \"{value}\" }"),
    param::list("inherit", kTag, "Those of its tags that all descendants of the process get, unless they have their own"),
    param::list("interpreter", kPattern, "Instead of main: patterns for the name of an interpreter"),
    param::list("code", kOption, "Options of the interpreter that run text instead of a file"),
    param::list("script", kOption, "Options of the interpreter whose value is the script"),
    param::list("value", kOption, "Options of the interpreter with a value, in the same word or the next"),
    param::list("attached", kOption, "Options of the interpreter whose value is the rest of the word"),
};
inline constexpr Param kRule[] = {param::record("", kRuleMembers, "A rule, for JVMs or for an interpreter")};

inline constexpr Param kNamesParams[] = {
    param::list("rules", kRule, "Rules to name programs, the first match wins (default in pipeline files: atalaya.frameworks)"),
    param::list("tags", kPlaceTag, "Extra tags for the place where a process runs"),
    param::boolean("job_environment",
                   "Slurm's job from SLURM_JOB_ID where the cgroup has no job; reads the environment of each process, and keeps "
                   "three numbers of it")
        .defaults("false"),
    param::integer("recheck", "Known processes per window that are read again, to see a new program or, with tags, a new place")
        .defaults("16")
        .range(0, 100000)
        .unit("processes"),
    param::integer("cache", "Maximum number of processes with a derived name; others keep their name")
        .defaults("65536")
        .range(1, 10000000)
        .unit("processes"),
    param::integer("forget", "Windows without a sample after which a process is forgotten")
        .defaults("60")
        .range(1, 1000000)
        .unit("windows"),
    param::duration("wait", "Maximum time per window to wait for the names of new processes; later ones come a window late")
        .defaults("50ms")
        .range(0, 1e9),
    param::string("root", "Folder that holds proc, var and run: the host's root in a container").defaults("/"),
};

inline constexpr Need kNamesNeeds[] = {
    need::optional_capability(
        "CAP_SYS_PTRACE", "JVMs of other users are named by their command lines, and only if their program is called java", "jvms"),
    need::optional_capability("CAP_DAC_READ_SEARCH", "same effect as missing CAP_SYS_PTRACE", "jvms"),
    need::optional_capability("CAP_DAC_READ_SEARCH", "no names of containers", "containers"),
    need::optional_capability("CAP_NET_ADMIN",
                              "a process that ends within a window keeps the kernel's name, such as java, and inherits no tags",
                              "starts"),
    need::optional_capability("CAP_SYS_PTRACE", "job_environment: no jobs of other users' processes", "job_environment"),
    need::optional_capability("CAP_DAC_READ_SEARCH", "same effect as missing CAP_SYS_PTRACE", "job_environment"),
};

// Reads the parameter `rules`.
std::vector<RuleText> read_rules(Host host);
// Reads the parameter `job_environment`. An environment contains secrets, so the parameter is valid only if a tag of jobs is
// selected; otherwise it throws Failure.
bool reads_environments(Host host);

}  // namespace atalaya::names
