/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin in plain C: the source `uptime` says how long the host has been up and how long its cores have been idle.
 * Read it from top to bottom; the order is that of a plugin's life:
 *   1. what it says of itself, as constant data     2. create and destroy     3. start and stop     4. collect     5. the export */
#include <atalaya/plugin.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1. What it says of itself --------------------------------------------------------------------------------------------
 * From these tables come `atalaya plugins uptime`, the checks of a pipeline file, defaults, editor help and documentation.
 * The host reads them without running anything else. */
static const atalaya_param params[] = {{
    .name = ATALAYA_STR("path"),
    .type = ATALAYA_STRING,
    .default_text = ATALAYA_STR("/proc/uptime"),
    .summary = ATALAYA_STR("File to read; another one is of use in tests."),
}};

static const atalaya_metric metrics[] = {
    {.name = ATALAYA_STR("uptime.seconds"),
     .unit = ATALAYA_STR("s"),
     .kind = ATALAYA_GAUGE,
     .decimals = 2,
     .source = ATALAYA_STR("/proc/uptime, first number"),
     .summary = ATALAYA_STR("Time since the host was started.")},
    {.name = ATALAYA_STR("uptime.idle"),
     .unit = ATALAYA_STR("s"),
     .kind = ATALAYA_TOTAL,
     .decimals = 2,
     .source = ATALAYA_STR("/proc/uptime, second number"),
     .summary = ATALAYA_STR("Time that all cores together have been idle since then.")},
};

/* ---- 2. create and destroy -------------------------------------------------------------------------------------------------
 * One struct per instance; never a global variable: a pipeline file may use the source twice. */
struct uptime {
  const atalaya_host *host; /* valid until destroy returns */
  uint32_t seconds, idle;   /* ids of the names; the same in the whole process, so ask for them once */
  FILE *file;
  char path[256];
};

/* Every failure carries a sentence for the operator: what happened, where, what to do. */
static int32_t fail(atalaya_error *error, int32_t code, const char *path, const char *reason) {
  snprintf(error->text, sizeof(error->text), "%s: %s; set `path` to a readable file", path, reason);
  return code;
}

static int32_t create(const atalaya_host *host, const atalaya_component *component, void **instance, atalaya_error *error) {
  (void)component;
  /* struct_size tells the host which members this plugin knows. The parameter has a default, so it is always there. */
  atalaya_value path = {.struct_size = sizeof(path)};
  const atalaya_str name = ATALAYA_STR("path");
  if (host->param(host->self, name, &path) != ATALAYA_OK) return ATALAYA_BAD_CONFIG;

  struct uptime *self = calloc(1, sizeof(*self));
  if (self == NULL) return ATALAYA_RETRY;
  if (path.text.size >= sizeof(self->path)) {
    free(self);
    return fail(error, ATALAYA_BAD_CONFIG, "path", "longer than 255 bytes");
  }
  memcpy(self->path, path.text.data, path.text.size); /* strings are pointer and length, without a 0 at the end */
  self->host = host;
  self->seconds = host->intern(host->self, metrics[0].name);
  self->idle = host->intern(host->self, metrics[1].name);
  *instance = self; /* opens nothing: `atalaya check` creates instances too */
  return ATALAYA_OK;
}

static void destroy(void *instance) {
  free(instance);
}

/* ---- 3. start and stop ------------------------------------------------------------------------------------------------------
 * Files, sockets and programs are opened in start. stop is legal without start, and twice. */
static int32_t start(void *instance, atalaya_error *error) {
  struct uptime *self = instance;
  self->file = fopen(self->path, "re");
  if (self->file == NULL) return fail(error, ATALAYA_UNSUPPORTED, self->path, strerror(errno));
  return ATALAYA_OK;
}

static int32_t stop(void *instance, atalaya_error *error) {
  struct uptime *self = instance;
  (void)error;
  if (self->file != NULL) fclose(self->file);
  self->file = NULL;
  return ATALAYA_OK;
}

/* ---- 4. collect -------------------------------------------------------------------------------------------------------------
 * Called once a window. A sample is what one entity showed: tags that say which (none here; the host adds its own name), and
 * fields, the numbers. Everything is copied into the batch. */
static int32_t add(struct uptime *self, atalaya_batch *batch, atalaya_sample *sample, uint32_t name, double value) {
  const atalaya_field field = {.name = name, .type = ATALAYA_F64, .value = {.f64 = value}};
  return self->host->add_field(self->host->self, batch, sample, &field);
}

static int32_t collect(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error) {
  struct uptime *self = instance;
  double seconds = 0, idle = 0;
  (void)window; /* its time is stamped on the samples by the host; rates would need window->monotonic_ns */
  rewind(self->file);
  const int found = fscanf(self->file, "%lf %lf", &seconds, &idle);
  if (found < 1) return fail(error, ATALAYA_RETRY, self->path, "does not hold two numbers");

  atalaya_sample *sample = NULL;
  int32_t code = self->host->add_sample(self->host->self, batch, ATALAYA_METRICS, &sample);
  if (code == ATALAYA_OK) code = add(self, batch, sample, self->seconds, seconds);
  /* What is not known is left out; it is never 0. */
  if (code == ATALAYA_OK && found == 2) code = add(self, batch, sample, self->idle, idle);
  return code;
}

/* ---- 5. The export ----------------------------------------------------------------------------------------------------------
 * Members that are not named are NULL or 0. The note repeats name, version and components, so that the host finds the plugin
 * without opening it; the two must agree. */
static const atalaya_ops ops = {
    .struct_size = sizeof(ops), .create = create, .start = start, .stop = stop, .destroy = destroy, .collect = collect};

static const atalaya_component source = {.struct_size = sizeof(source),
                                         .kind = ATALAYA_SOURCE,
                                         .name = ATALAYA_STR("uptime"),
                                         .summary = ATALAYA_STR("How long the host has been up, and idle."),
                                         .params = params,
                                         .param_count = sizeof(params) / sizeof(params[0]),
                                         .param_size = sizeof(params[0]),
                                         .metrics = metrics,
                                         .metric_count = sizeof(metrics) / sizeof(metrics[0]),
                                         .metric_size = sizeof(metrics[0]),
                                         .ops = &ops};

static const atalaya_component *const components[] = {&source};

static const atalaya_plugin plugin = {.struct_size = sizeof(plugin),
                                      .abi_major = ATALAYA_ABI_MAJOR,
                                      .abi_minor = ATALAYA_ABI_MINOR,
                                      .sample_layout = ATALAYA_SAMPLE_LAYOUT,
                                      .name = ATALAYA_STR("uptime"),
                                      .version = ATALAYA_STR("1.0.0"),
                                      .components = components,
                                      .component_count = 1};

ATALAYA_NOTE("uptime", "1.0.0", "source uptime");

const atalaya_plugin *atalaya_plugin_v1(void) {
  return &plugin;
}
