// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/plot/png.h"

#include <dlfcn.h>

#include <atalaya/plugin.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <string>

namespace atalaya::plot {
namespace {

constexpr const char *kLibrary = "librsvg-2.so.2";

// The functions of librsvg and cairo that are used. Their ABIs have been stable for many years, so the headers are not needed.
struct Rectangle {
  double x, y, width, height;
};
struct Error {  // GError
  unsigned domain;
  int code;
  const char *message;
};
using NewFromData = void *(const unsigned char *, size_t, Error **);
using RenderDocument = int(void *, void *, const Rectangle *, Error **);
using ReleaseError = void(Error *);
using CreateSurface = void *(int, int, int);
using Create = void *(void *);
using Write = int(void *, int (*)(void *, const unsigned char *, unsigned), void *);
using Status = int(void *);
using StatusText = const char *(int);
using Release = void(void *);
constexpr int kOpaque = 1;  // CAIRO_FORMAT_RGB24

[[noreturn]] void failed(const std::string &problem) {
  throw Failure(Code::unsupported, problem + "; FILE.svg needs no library");
}

// Never closed: the library registers types that cannot be unregistered.
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

// Exceptions must not cross cairo.
int append(void *out, const unsigned char *bytes, unsigned size) {
  constexpr int kNoMemory = 1;  // CAIRO_STATUS_NO_MEMORY
  try {
    static_cast<std::string *>(out)->append(reinterpret_cast<const char *>(bytes), size);
  } catch (const std::bad_alloc &) {
    return kNoMemory;
  }
  return 0;
}

// librsvg's error message.
std::string reason_of(void *library, Error *error) {
  if (error == nullptr) return "unknown reason";
  std::string text = error->message;
  found<ReleaseError>(library, "g_error_free")(error);
  return text;
}

using Object = std::unique_ptr<void, Release *>;

Object surface_of(void *library, int width, int height) {
  Object surface(found<CreateSurface>(library, "cairo_image_surface_create")(kOpaque, width, height),
                 found<Release>(library, "cairo_surface_destroy"));
  if (const int status = found<Status>(library, "cairo_surface_status")(surface.get()); status != 0)
    failed("cairo cannot create an image of " + std::to_string(width) + " x " + std::to_string(height) +
           " pixels: " + found<StatusText>(library, "cairo_status_to_string")(status));
  return surface;
}

}  // namespace

std::string png_of(const std::string &svg, int width, int height) {
  void *library = opened();
  const auto release = found<Release>(library, "g_object_unref");
  const Object surface = surface_of(library, width, height);
  Error *error = nullptr;
  const Object picture(found<NewFromData>(library, "rsvg_handle_new_from_data")(reinterpret_cast<const unsigned char *>(svg.data()),
                                                                                svg.size(), &error),
                       release);
  if (picture == nullptr) failed("librsvg cannot read the image: " + reason_of(library, error));
  const Object context(found<Create>(library, "cairo_create")(surface.get()), found<Release>(library, "cairo_destroy"));
  const Rectangle whole{0, 0, static_cast<double>(width), static_cast<double>(height)};
  if (found<RenderDocument>(library, "rsvg_handle_render_document")(picture.get(), context.get(), &whole, &error) == 0)
    failed("librsvg cannot draw the image: " + reason_of(library, error));
  std::string png;
  if (const int status = found<Write>(library, "cairo_surface_write_to_png_stream")(surface.get(), append, &png); status != 0)
    failed(std::string("cairo cannot write the image: ") + found<StatusText>(library, "cairo_status_to_string")(status));
  return png;
}

}  // namespace atalaya::plot
