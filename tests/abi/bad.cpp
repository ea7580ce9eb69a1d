// SPDX-License-Identifier: Apache-2.0
// A plugin with one fault: BAD_<FAULT> selects it, BAD_NAME is the name of the plugin and its source.
#include <atalaya/plugin.h>

#include <stdexcept>

#if defined(BAD_WRONG_MAJOR)
#undef ATALAYA_ABI_MAJOR
#define ATALAYA_ABI_MAJOR 9
#elif defined(BAD_NEWER_MINOR)
#undef ATALAYA_ABI_MINOR
#define ATALAYA_ABI_MINOR 9
#elif defined(BAD_OTHER_LAYOUT)
#undef ATALAYA_SAMPLE_LAYOUT
#define ATALAYA_SAMPLE_LAYOUT 2
#endif

namespace {

int32_t create(const atalaya_host *, const atalaya_component *, void **, [[maybe_unused]] atalaya_error *error) {
#if defined(BAD_FAILING_CREATE)
  constexpr char text[] = "there is no such thing";
  for (size_t i = 0; i < sizeof(text); ++i) error->text[i] = text[i];
  return ATALAYA_BAD_CONFIG;
#elif defined(BAD_THROWING_CREATE)
  throw std::runtime_error("thrown in create");
#else
  return ATALAYA_OK;
#endif
}
#if !defined(BAD_MISSING_FUNCTIONS)
int32_t start(void *, atalaya_error *) {
  return ATALAYA_OK;
}
int32_t collect(void *, const atalaya_window *, atalaya_batch *, atalaya_error *) {
  return ATALAYA_OK;
}
#endif
int32_t stop(void *, atalaya_error *) {
  return ATALAYA_OK;
}
void destroy(void *) {}

constexpr atalaya_ops ops = {.struct_size = sizeof(atalaya_ops),
                             .create = create,
#if !defined(BAD_MISSING_FUNCTIONS)
                             .start = start,
#endif
                             .stop = stop,
                             .destroy = destroy,
#if !defined(BAD_MISSING_FUNCTIONS)
                             .collect = collect
#endif
};

constexpr atalaya_component component = {.struct_size = sizeof(atalaya_component),
#if defined(BAD_UNKNOWN_KIND)
                                         .kind = 9,
#else
                                         .kind = ATALAYA_SOURCE,
#endif
#if defined(BAD_SOURCE_NAME)
                                         .name = ATALAYA_STR("Source Name"),
#else
                                         .name = ATALAYA_STR(BAD_NAME),
#endif
                                         .summary = ATALAYA_STR("Wrong."),
                                         .ops = &ops};
constexpr const atalaya_component *components[] = {&component};

constexpr atalaya_plugin plugin = {
#if defined(BAD_SHORT_STRUCT)
    .struct_size = 16,
#else
    .struct_size = sizeof(atalaya_plugin),
#endif
    .abi_major = ATALAYA_ABI_MAJOR,
    .abi_minor = ATALAYA_ABI_MINOR,
    .sample_layout = ATALAYA_SAMPLE_LAYOUT,
    .name = ATALAYA_STR(BAD_NAME),
    .version = ATALAYA_STR("1.0.0"),
    .components = components,
    .component_count = 1};

#if defined(BAD_OTHER_NOTE)
ATALAYA_NOTE(BAD_NAME, "2.0.0", "source " BAD_NAME);
#elif !defined(BAD_NO_NOTE)
ATALAYA_NOTE(BAD_NAME, "1.0.0", "source " BAD_NAME);
#endif

}  // namespace

#if defined(BAD_NO_SYMBOL)
extern "C" ATALAYA_EXPORT const atalaya_plugin *other_symbol(void) {
  return &plugin;
}
#else
const atalaya_plugin *atalaya_plugin_v1(void) {
#if defined(BAD_NULL_DESCRIPTOR)
  return nullptr;
#else
  return &plugin;
#endif
}
#endif
