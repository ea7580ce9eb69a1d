// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/plot/png.h"

#include <dlfcn.h>

#include <atalaya/plugin.hpp>
#include <cstddef>

namespace atalaya::plot {
namespace {

constexpr const char *kLibrary = "librsvg-2.so.2";

// What is used of librsvg and cairo, whose binary interfaces have stood for many years; their headers are not needed to build.
struct Rectangle {
  double x, y, width, height;
};
using NewFromData = void *(const unsigned char *, size_t, void **);
using RenderDocument = int(void *, void *, const Rectangle *, void **);
using CreateSurface = void *(int, int, int);
using Create = void *(void *);
using Write = int(void *, int (*)(void *, const unsigned char *, unsigned), void *);
using Release = void(void *);
constexpr int kOpaque = 1;  // CAIRO_FORMAT_RGB24

[[noreturn]] void failed(const std::string &what) {
  throw Failure(Code::unsupported, what + "; FILE.svg needs nothing");
}

// Stays open: the library registers types that cannot be taken back.
void *opened() {
  void *library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) failed("PNG needs librsvg: " + std::string(::dlerror()) + "; install librsvg2-2 (Debian)");
  return library;
}

template <class Function>
Function *found(void *library, const char *name) {
  void *symbol = ::dlsym(library, name);
  if (symbol == nullptr) failed("PNG needs " + std::string(name) + ", which this " + kLibrary + " does not have");
  return reinterpret_cast<Function *>(symbol);
}

int append(void *out, const unsigned char *bytes, unsigned size) {
  static_cast<std::string *>(out)->append(reinterpret_cast<const char *>(bytes), size);
  return 0;
}

}  // namespace

std::string png_of(const std::string &svg, int width, int height) {
  void *library = opened();
  const auto new_from_data = found<NewFromData>(library, "rsvg_handle_new_from_data");
  const auto render = found<RenderDocument>(library, "rsvg_handle_render_document");
  const auto release = found<Release>(library, "g_object_unref");
  const auto create_surface = found<CreateSurface>(library, "cairo_image_surface_create");
  const auto create = found<Create>(library, "cairo_create");
  const auto write = found<Write>(library, "cairo_surface_write_to_png_stream");
  const auto destroy = found<Release>(library, "cairo_destroy");
  const auto destroy_surface = found<Release>(library, "cairo_surface_destroy");

  void *picture = new_from_data(reinterpret_cast<const unsigned char *>(svg.data()), svg.size(), nullptr);
  if (picture == nullptr) failed("librsvg does not take the picture");
  void *surface = create_surface(kOpaque, width, height);
  void *context = create(surface);
  const Rectangle whole{0, 0, static_cast<double>(width), static_cast<double>(height)};
  const bool drawn = render(picture, context, &whole, nullptr) != 0;
  std::string png;
  const bool written = drawn && write(surface, append, &png) == 0;
  destroy(context);
  destroy_surface(surface);
  release(picture);
  if (!written) failed("librsvg does not draw the picture");
  return png;
}

}  // namespace atalaya::plot
