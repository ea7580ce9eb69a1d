// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/probes/regions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/code/symbols/elf_image.h"
#include "plugins/shared/code/symbols/functions.h"

namespace atalaya::probes {
namespace {

constexpr std::string_view kAtReturn = "return";

// "parse", "parse+24", "parse+0x18". A name may have a + in it, too: operator+.
core::Result<Place> parse_place(std::string_view text) {
  const size_t plus = text.rfind('+');
  const bool has_offset =
      plus != std::string_view::npos && plus + 1 < text.size() && text[plus + 1] >= '0' && text[plus + 1] <= '9';
  Place place{std::string(has_offset ? text.substr(0, plus) : text), 0};
  if (place.symbol.empty()) return core::Error{"has no function name"};
  if (!has_offset) return place;
  std::string_view digits = text.substr(plus + 1);
  const bool hexadecimal = core::skip_prefix(digits, "0x");
  const auto offset = core::number_from<decltype(place.offset)>(digits, hexadecimal ? 16 : 10);
  if (!offset)
    return core::Error{"is " + core::in_quotes(text) +
                       ", where + is not followed by a number of bytes; write FUNCTION+24 or FUNCTION+0x18"};
  place.offset = *offset;
  return place;
}

core::Result<uint8_t> parse_bytes(const std::string &text, const Region &region) {
  if (text.empty()) return kNoBytes;
  if (text == kAtReturn) {
    if (region.leave) return core::Error{"is \"return\", which requires leave = \"return\""};
    return kBytesReturned;
  }
  const bool argument = text.size() == 4 && text.starts_with("arg") && text[3] >= '1' && text[3] <= '5';
  if (!argument) return core::Error{"is " + core::in_quotes(text) + "; use arg1 to arg5, or return"};
  if (region.enter.offset != 0)
    return core::Error{"is " + core::in_quotes(text) + ", but arguments are known only at the begin of a function"};
  return static_cast<uint8_t>(text[3] - '0');
}

core::Result<Region> parse_region(const RegionText &text) {
  Region region{
      .name = text.name, .binary = text.binary, .enter = {}, .leave = {}, .is_safe = text.leave == kAtReturn, .bytes = kNoBytes};
  if (text.name.empty()) return core::Error{"name is empty"};
  if (text.binary.empty()) return core::Error{"binary is empty; name the program or library that contains the code"};
  auto enter = parse_place(text.enter);
  if (!enter) return core::Error{"enter " + enter.error()};
  region.enter = std::move(*enter);
  if (!text.leave.empty() && !region.is_safe) {
    auto leave = parse_place(text.leave);
    if (!leave) return core::Error{"leave " + leave.error()};
    region.leave = std::move(*leave);
  } else if (region.enter.offset != 0) {
    // Within a function, the kernel would mistake another stack entry for the return address.
    return core::Error{"enter is within a function, so leave cannot be \"return\"; name the function where the region ends"};
  }
  auto bytes = parse_bytes(text.bytes, region);
  if (!bytes) return core::Error{"bytes " + bytes.error()};
  region.bytes = *bytes;
  return region;
}

core::Result<uint64_t> resolve(const Place &place, const std::string &binary, int file) {
  auto found = symbols::find_function(file, binary, place.symbol);
  if (!found) return core::Error{found.error()};
  if (place.offset != 0 && found->size != 0 && place.offset >= found->size)
    return core::Error{core::in_quotes(place.symbol) + " in " + binary + " is " + std::to_string(found->size) + " bytes long; " +
                       std::to_string(place.offset) + " is beyond its end"};
  return found->offset + place.offset;
}

// Go's linker adds one of these sections to every program.
bool is_go(const symbols::ElfImage &image) {
  static constexpr std::string_view kSections[] = {".note.go.buildid", ".go.buildinfo", ".gopclntab"};
  return std::any_of(std::begin(kSections), std::end(kSections), [&](auto name) { return !image.section(name).empty(); });
}

// A return probe replaces the function's return address by one of the kernel's: code that unwinds the stack for an exception, or
// moves the stack, then ends the program.
core::Result<Points> points_until_return(const Region &region, uint64_t enter, int file) {
  const auto image = symbols::ElfImage::of_file(file);
  if (!image) return Points{enter, std::nullopt};
  if (is_go(*image))
    return core::Error{region.binary + " is a Go program, which crashes when a return probe is set on one of its functions" +
                       " (\"unexpected return pc\"); set leave to the function where the region ends"};
  if (!region.is_safe && !image->section(".gcc_except_table").empty())
    return core::Error{
        region.binary + " has exceptions (C++, Rust): one that leaves " + region.enter.symbol +
        " would end the program while a return probe is set; set leave to the function where the region ends, or write" +
        " leave = \"return\" if no exception ever leaves it"};
  return Points{enter, std::nullopt};
}

}  // namespace

core::Result<std::vector<Region>> parse_regions(const std::vector<RegionText> &texts) {
  if (texts.empty()) return core::Error{"has no region"};
  if (texts.size() > kMaxRegions) return core::Error{"has more than the maximum of " + std::to_string(kMaxRegions) + " regions"};
  std::vector<Region> regions;
  std::set<std::string> names;
  for (const RegionText &text : texts) {
    auto region = parse_region(text);
    const std::string where = "region " + core::in_quotes(text.name) + ": ";
    if (!region) return core::Error{where + region.error()};
    if (!names.insert(text.name).second) return core::Error{where + "the name is used twice; region names must be unique"};
    regions.push_back(std::move(*region));
  }
  return regions;
}

std::vector<Region> regions_of(const Host &host, const std::string &parameter) {
  std::vector<RegionText> texts;
  for (uint64_t i = 0; host.child(parameter, i); ++i) {
    const std::string path = parameter + "[" + std::to_string(i) + "].";
    const auto text_of = [&](const char *member) {
      const auto value = host.find(path + member);
      return value ? std::string(value->text()) : std::string();
    };
    texts.push_back({.name = host.text(path + "name"),
                     .binary = host.text(path + "binary"),
                     .enter = host.text(path + "enter"),
                     .leave = text_of("leave"),
                     .bytes = text_of("bytes")});
  }
  auto regions = parse_regions(texts);
  if (!regions) throw Failure(Code::bad_config, "parameter \"" + parameter + "\": " + regions.error());
  return std::move(*regions);
}

std::vector<uint8_t> by_return(const std::vector<Region> &regions) {
  std::vector<uint8_t> result;
  result.reserve(regions.size());
  for (const Region &region : regions) result.push_back(region.leave ? 0 : 1);
  return result;
}

core::Result<Points> resolve(const Region &region, int file) {
  auto enter = resolve(region.enter, region.binary, file);
  if (!enter) return core::Error{enter.error()};
  if (!region.leave) return points_until_return(region, *enter, file);
  auto leave = resolve(*region.leave, region.binary, file);
  if (!leave) return core::Error{leave.error()};
  if (*leave == *enter) return core::Error{"enter and leave are the same place of " + region.binary};
  return Points{*enter, *leave};
}

}  // namespace atalaya::probes
