// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/symbols/functions.h"

#include <gelf.h>
#include <libelf.h>
#include <lzma.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "core/base/files.h"
#include "core/base/text.h"
#include "plugins/shared/symbols/demangle.h"
#include "plugins/shared/symbols/elf_files.h"

namespace atalaya::symbols {
namespace {

constexpr size_t kLongestName = 4096;
constexpr size_t kMostNamed = 4;  // in an error

bool is_function(const GElf_Sym &symbol) {
  const unsigned type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// What every mangled form of the name has in it, so that not all names of a large program have to be demangled: the last word. That
// of an operator is mangled as something else.
std::string_view part_of_mangled(std::string_view name) {
  if (name.find("operator") != std::string_view::npos) return {};
  size_t begin = name.size();
  while (begin > 0 && is_word(name[begin - 1])) --begin;
  return name.substr(begin);
}

bool is_mangled(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R");
}

std::string_view without_version(std::string_view name) {
  return name.substr(0, name.find('@'));
}

// The compiler made it from a part of the function, or for some of its callers.
bool is_clone(std::string_view name) {
  static constexpr std::string_view kMarks[] = {".cold", ".part.", ".constprop.", ".isra."};
  return std::any_of(std::begin(kMarks), std::end(kMarks), [name](auto mark) { return name.find(mark) != std::string_view::npos; });
}

// Of one that is named by where it is: 0x and digits.
std::optional<uint64_t> address_in(std::string_view name) {
  uint64_t address = 0;
  if (!name.starts_with("0x")) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data() + 2, name.data() + name.size(), address, 16);
  return error == std::errc{} && end == name.data() + name.size() ? std::optional(address) : std::nullopt;
}

std::string at_address(uint64_t address) {
  char digits[16];
  return " at 0x" + std::string(digits, std::to_chars(digits, std::end(digits), address, 16).ptr);
}

// Goes through the tables of a file, and of what adds to them.
class Search {
 public:
  explicit Search(std::string_view name) : name_(name), part_(part_of_mangled(name)), address_(address_in(name)) {}

  void look_in(const ElfImage &image, const std::string &path, const struct stat &of) {
    if (look_in_table(image, SHT_SYMTAB)) return;
    stripped_ = true;
    look_in_table(image, SHT_DYNSYM);
    const std::string bytes = unpacked_debug_data(image.section(".gnu_debugdata"));
    if (const auto packed = ElfImage::of_memory(std::as_bytes(std::span(bytes)))) look_in_table(*packed, SHT_SYMTAB);
    const core::Descriptor file = open_debug_file(image, of, path);
    if (!file) return;
    if (const auto debug = ElfImage::of_file(file.get())) stripped_ = !look_in_table(*debug, SHT_SYMTAB);
  }

  core::Result<Function> result(const std::string &path) const {
    if (found_.empty()) return core::Error{none(path)};
    if (found_.size() > 1) return core::Error{several(path)};
    const auto &[function, name] = found_.front();
    if (function.indirect)
      return core::Error{core::in_quotes(name_) + " in " + path +
                         " is chosen among several when the program starts (IFUNC); name the one that is used"};
    return function;
  }

 private:
  bool look_in_table(const ElfImage &image, uint32_t table) {
    return each_function(image, table, [this](const Function &function) {
      look_at(function);
      return true;
    });
  }

  void look_at(const Function &function) {
    const std::string_view bare = without_version(function.name);
    if (address_ && function.address == *address_) add(function, bare);
    if (part_.empty() ? bare != name_ && !is_mangled(bare) : bare.find(part_) == std::string_view::npos) return;
    const std::string readable = is_clone(bare) ? std::string(bare) : demangled(bare);
    if (bare == name_ || readable == name_)
      add(function, bare);
    else if (!part_.empty() && near_.size() < kMostNamed && std::find(near_.begin(), near_.end(), readable) == near_.end())
      near_.push_back(readable);
  }

  // Several names of one place are one function.
  void add(const Function &function, std::string_view name) {
    const auto same = [&function](const auto &known) { return known.first.address == function.address; };
    if (std::none_of(found_.begin(), found_.end(), same)) found_.emplace_back(function, name);
  }

  std::string none(const std::string &path) const {
    std::string text = "no function " + core::in_quotes(name_) + " in " + path;
    if (!near_.empty()) return text + "; there is " + core::in_quotes(near_.front()) + others();
    if (stripped_)
      return text +
             ", which has only the names that it exports (or too many): install its debug symbols, or build it without stripping "
             "it";
    return text + "; `nm -C` lists what is there; a function that was inlined is not";
  }

  std::string others() const {
    std::string text;
    for (size_t i = 1; i < near_.size(); ++i) text += (i + 1 < near_.size() ? ", " : " and ") + core::in_quotes(near_[i]);
    return text;
  }

  std::string several(const std::string &path) const {
    std::string text = std::to_string(found_.size()) + " functions " + core::in_quotes(name_) + " in " + path + ": ";
    for (size_t i = 0; i < found_.size() && i < kMostNamed; ++i)
      text += (i > 0 ? ", " : "") + found_[i].second + at_address(found_[i].first.address);
    if (found_.size() > kMostNamed) text += ", ...";
    return text + "; name one as the symbol table has it, or by its address";
  }

  std::string_view name_, part_;
  std::optional<uint64_t> address_;
  std::vector<std::pair<Function, std::string>> found_;  // and its name in the table
  std::vector<std::string> near_;
  bool stripped_ = false;
};

}  // namespace

std::string unpacked_debug_data(std::string_view packed) {
  // One or more xz streams.
  lzma_stream stream = LZMA_STREAM_INIT;
  std::string out;
  if (lzma_stream_decoder(&stream, kMaxDebugData, LZMA_CONCATENATED) != LZMA_OK) return out;
  stream.next_in = reinterpret_cast<const uint8_t *>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && out.size() < kMaxDebugData) {
    const size_t used = out.size();
    out.resize(used + (size_t{1} << 20));
    stream.next_out = reinterpret_cast<uint8_t *>(out.data()) + used;
    stream.avail_out = out.size() - used;
    result = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END) out.clear();
  return out;
}

bool each_function(const ElfImage &image, uint32_t table, const std::function<bool(const Function &)> &take) {
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(image.raw(), section)) != nullptr;) {
    GElf_Shdr header, strings;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != table || header.sh_entsize == 0) continue;
    Elf_Scn *texts = elf_getscn(image.raw(), header.sh_link);
    if (gelf_getshdr(texts, &strings) == nullptr || strings.sh_type != SHT_STRTAB) continue;
    Elf_Data *data = image.section_data(section);
    const std::string_view names = image.section_bytes(texts);
    if (data == nullptr || names.empty()) continue;
    const auto count = static_cast<int>(std::min<uint64_t>(header.sh_size / header.sh_entsize, kMaxRead / sizeof(Elf32_Sym)));
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) break;
      if (!is_function(symbol) || symbol.st_name >= names.size()) continue;
      std::string_view name = names.substr(symbol.st_name, kLongestName);
      name = name.substr(0, name.find('\0'));
      const bool indirect = GELF_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
      if (!name.empty() && !take({symbol.st_value, symbol.st_size, indirect, name})) break;
    }
    return true;
  }
  return false;
}

core::Result<FoundFunction> find_function(int file, const std::string &path, std::string_view name) {
  struct stat info {};
  const auto image = ElfImage::of_file(file);
  if (!image || ::fstat(file, &info) != 0) return core::Error{path + " is no program or library (ELF) of this machine"};
  Search search(name);
  search.look_in(*image, path, info);
  auto found = search.result(path);
  if (!found) return core::Error{found.error()};
  const auto offset = Segments(*image).offset_of(found->address);
  if (!offset) return core::Error{core::in_quotes(name) + " in " + path + " is in no part of the file that is loaded"};
  return FoundFunction{*offset, found->size};
}

}  // namespace atalaya::symbols
