// SPDX-License-Identifier: Apache-2.0
// The description of a component as tables, for the terminal, its README or other programs.
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

// The page of one component, with tables of its parameters, needs and metrics. Empty tables are left out.
struct Page {
  std::string kind, name, plugin, version, file, summary;
  std::vector<Table> tables;
};
// `common`: parameters that the engine adds to the component's.
Page page_of(const Plugin &plugin, const atalaya_component &component, const Schema &common);

// All installed components.
Table overview(const std::vector<Page> &pages);

std::string render(const std::vector<Page> &pages, PageFormat format);
std::string render(const Table &table, PageFormat format);

}  // namespace atalaya::core::cli
