/* SPDX-License-Identifier: Apache-2.0
 * A plugin as it was built against a released header. It must load for as long as that major lives. */
#include "plugin.h"

static int32_t create(const atalaya_host *host, const atalaya_component *component, void **instance, atalaya_error *error) {
  (void)component;
  (void)error;
  *instance = (void *)host;
  return ATALAYA_OK;
}
static int32_t nothing_to_do(void *instance, atalaya_error *error) {
  (void)instance;
  (void)error;
  return ATALAYA_OK;
}
static void destroy(void *instance) {
  (void)instance;
}
static int32_t collect(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error) {
  const atalaya_host *host = instance;
  static const atalaya_str name = ATALAYA_STR("tiny.value");
  atalaya_field field = {host->intern(host->self, name), ATALAYA_I64, {.i64 = 42}};
  atalaya_sample *sample = NULL;
  (void)window;
  (void)error;
  if (host->add_sample(host->self, batch, ATALAYA_METRICS, &sample) != ATALAYA_OK) return ATALAYA_RETRY;
  return host->add_field(host->self, batch, sample, &field);
}

static const atalaya_metric metrics[] = {{.name = ATALAYA_STR("tiny.value"),
                                          .unit = ATALAYA_STR("1"),
                                          .kind = ATALAYA_GAUGE,
                                          .decimals = -1,
                                          .summary = ATALAYA_STR("Always 42.")}};
static const atalaya_ops ops = {.struct_size = sizeof(ops),
                                .create = create,
                                .start = nothing_to_do,
                                .stop = nothing_to_do,
                                .destroy = destroy,
                                .collect = collect};
static const atalaya_component component = {.struct_size = sizeof(component),
                                            .kind = ATALAYA_SOURCE,
                                            .name = ATALAYA_STR("tiny"),
                                            .summary = ATALAYA_STR("One number."),
                                            .metrics = metrics,
                                            .metric_count = 1,
                                            .metric_size = sizeof(metrics[0]),
                                            .ops = &ops};
static const atalaya_component *const components[] = {&component};

ATALAYA_NOTE("tiny", "1.0.0", "source tiny");
const atalaya_plugin *atalaya_plugin_v1(void) {
  static const atalaya_plugin plugin = {.struct_size = sizeof(plugin),
                                        .abi_major = ATALAYA_ABI_MAJOR,
                                        .abi_minor = ATALAYA_ABI_MINOR,
                                        .sample_layout = ATALAYA_SAMPLE_LAYOUT,
                                        .name = ATALAYA_STR("tiny"),
                                        .version = ATALAYA_STR("1.0.0"),
                                        .components = components,
                                        .component_count = 1};
  return &plugin;
}
