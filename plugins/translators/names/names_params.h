// SPDX-License-Identifier: Apache-2.0
// What the translator "names" takes and needs.
#pragma once

#include <atalaya/plugin.hpp>

#include <vector>

#include "plugins/translators/names/rules.h"

namespace atalaya::names {

using namespace atalaya::literals;

inline constexpr Param kPattern[] = {{.type = ATALAYA_STRING, .summary = "A pattern."_str}};
inline constexpr Param kOption[] = {{.type = ATALAYA_STRING, .summary = "An option."_str}};
inline constexpr Param kText[] = {{.type = ATALAYA_STRING, .summary = "A text with values in it."_str}};
inline constexpr Param kPlaceTag[] = {{.name = "tag"_str,
                                       .type = ATALAYA_ENUM,
                                       .allowed = "container|runtime|pod|namespace|project|service|unit|slice"_str,
                                       .summary = "An extra tag."_str}};

constexpr Param collection(atalaya_str name, uint32_t type, const Param *item, atalaya_str summary) {
  return {.name = name, .type = type, .summary = summary, .items = item, .item_count = 1, .item_size = sizeof(Param)};
}

inline constexpr Param kRuleMembers[] = {
    collection("main"_str, ATALAYA_LIST, kPattern, "Patterns for the main class of a JVM, or the file of its jar."_str),
    collection("arguments"_str, ATALAYA_LIST, kPattern, "Patterns for its arguments, with blanks between them."_str),
    collection("option"_str, ATALAYA_MAP, kOption,
               "Values for name and tags, { value = \"--option\" } before which it stands."_str),
    collection("argument"_str, ATALAYA_MAP, kPattern,
               "Values for name and tags, { value = \"pattern\" } of the first argument that is no option's."_str),
    {.name = "name"_str,
     .type = ATALAYA_STRING,
     .summary =
         "What the process is called, such as \"executor {value}\"; without the values it needs the rule does not apply."_str},
    collection("tags"_str, ATALAYA_MAP, kText, "Tags that are added, { tag = \"{value}\" }."_str),
    collection("interpreter"_str, ATALAYA_LIST, kPattern, "Instead of main: patterns for the name of an interpreter."_str),
    collection("code"_str, ATALAYA_LIST, kOption, "Its options with which it runs text that is no file."_str),
    collection("script"_str, ATALAYA_LIST, kOption, "Its options whose value is the script."_str),
    collection("value"_str, ATALAYA_LIST, kOption, "Its options with a value, in the same word or the next."_str),
    collection("attached"_str, ATALAYA_LIST, kOption, "Its options with the rest of the word as value."_str),
};
inline constexpr Param kRule[] = {{.type = ATALAYA_RECORD,
                                   .summary = "A rule, for JVMs or for an interpreter."_str,
                                   .items = kRuleMembers,
                                   .item_count = std::size(kRuleMembers),
                                   .item_size = sizeof(Param)}};

inline constexpr Param kNamesParams[] = {
    collection(
        "rules"_str, ATALAYA_LIST, kRule,
        "How programs are called, the first that applies counts; a pipeline file gets those of atalaya.frameworks if it gives none."_str),
    collection("tags"_str, ATALAYA_LIST, kPlaceTag, "Extra tags that say where a process runs."_str),
    {.name = "recheck"_str,
     .type = ATALAYA_INT,
     .flags = ATALAYA_BOUNDED,
     .default_text = "16"_str,
     .unit = "processes"_str,
     .summary =
         "Known processes a window that are looked at again: those that may have changed their program and, with tags, the others."_str,
     .min = 0,
     .max = 100000},
    {.name = "cache"_str,
     .type = ATALAYA_INT,
     .flags = ATALAYA_BOUNDED,
     .default_text = "65536"_str,
     .unit = "processes"_str,
     .summary = "Processes whose names are kept; further ones keep the name they came with."_str,
     .min = 1,
     .max = 10000000},
    {.name = "forget"_str,
     .type = ATALAYA_INT,
     .flags = ATALAYA_BOUNDED,
     .default_text = "60"_str,
     .unit = "windows"_str,
     .summary = "A process without a sample for so long is forgotten."_str,
     .min = 1,
     .max = 1000000},
    {.name = "root"_str,
     .type = ATALAYA_STRING,
     .default_text = "/"_str,
     .summary = "The folder that holds proc, var and run: the host's root in a container."_str},
};

inline constexpr Need kNamesNeeds[] = {
    {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_PTRACE"_str,
     "what JVMs of other users say of themselves (their command lines are read then), and JVMs whose program is not called java"_str,
     "jvms"_str},
    {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "as without CAP_SYS_PTRACE"_str, "jvms"_str},
    {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "names of containers"_str, "containers"_str},
};

// The parameter `rules`.
std::vector<RuleText> read_rules(Host host);

}  // namespace atalaya::names
