// SPDX-License-Identifier: Apache-2.0
// What a component says of itself, as tables: for the terminal, for its README, for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/registry.h"

namespace atalaya::core::cli {

enum class PageFormat { text, markdown, json };
std::optional<PageFormat> page_format(std::string_view name);  // "text", "markdown", "json"

struct Table {
  std::string title;  // "Parameters"; "" if it needs none
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// A page on one component: Parameters, Needs and Metrics, those that it has.
struct Page {
  std::string kind, name, plugin, version, file, summary;
  std::vector<Table> tables;
};
// `common`: parameters that the host adds to the component's own.
Page page_of(const Plugin &plugin, const atalaya_component &component, const Schema &common);

// All components that can be used: what is installed.
Table overview(const std::vector<Page> &pages);

std::string render(const std::vector<Page> &pages, PageFormat format);
std::string render(const Table &table, PageFormat format);

}  // namespace atalaya::core::cli
