/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin in plain C: the source `uptime` reports the uptime of the host and the idle time of its cores.
 * Read it from top to bottom, in the order of a plugin's life:
 *   1. the descriptor, as constant data     2. create and destroy     3. start and stop     4. collect     5. the export */
#include <atalaya/plugin.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- 1. The descriptor ----------------------------------------------------------------------------------------------------
 * The host uses these tables for `atalaya plugins uptime`, validation of pipeline files, defaults, editor help, documentation
 * and the metric catalogue. It reads them without running anything else. */
static const atalaya_param params[] = {{
    .name = ATALAYA_STR("path"),
    .type = ATALAYA_STRING,
    .default_text = ATALAYA_STR("/proc/uptime"),
    .summary = ATALAYA_STR("File to read; tests set another one."),
}};

static const atalaya_metric metrics[] = {
    {.name = ATALAYA_STR("uptime.seconds"),
     .unit = ATALAYA_STR("s"),
     .kind = ATALAYA_GAUGE,
     .decimals = 2,
     .source = ATALAYA_STR("/proc/uptime, first number"),
     .summary = ATALAYA_STR("Time since the start of the host.")},
    {.name = ATALAYA_STR("uptime.idle"),
     .unit = ATALAYA_STR("s"),
     .kind = ATALAYA_TOTAL,
     .decimals = 2,
     .source = ATALAYA_STR("/proc/uptime, second number"),
     .summary = ATALAYA_STR("Idle time of all cores together since the start.")},
};

/* ---- 2. create and destroy -------------------------------------------------------------------------------------------------
 * One struct per instance; never a global variable, because a pipeline file may use the source twice. */
struct uptime {
  const atalaya_host *host; /* valid until destroy returns */
  uint32_t seconds, idle;   /* ids of the names; constant in a process, so interned once */
  FILE *file;
  char path[256];
};

/* Every error has a sentence for the operator: the problem, its place and the solution. */
static int32_t fail(atalaya_error *error, int32_t code, const char *path, const char *reason) {
  snprintf(error->text, sizeof(error->text), "%s: %s; set `path` to a readable file", path, reason);
  return code;
}

static int32_t create(const atalaya_host *host, const atalaya_component *component, void **instance, atalaya_error *error) {
  (void)component;
  /* From struct_size the host knows the members of this plugin's version. The parameter has a default, so it always exists. */
  atalaya_value path = {.struct_size = sizeof(path)};
  const atalaya_str name = ATALAYA_STR("path");
  if (host->param(host->self, name, &path) != ATALAYA_OK) return ATALAYA_BAD_CONFIG;

  struct uptime *self = calloc(1, sizeof(*self));
  if (self == NULL) return ATALAYA_RETRY;
  if (path.text.size >= sizeof(self->path)) {
    free(self);
    return fail(error, ATALAYA_BAD_CONFIG, "path", "longer than 255 bytes");
  }
  memcpy(self->path, path.text.data, path.text.size); /* strings are pointer and length, without a final 0 */
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
 * Open files, sockets and programs in start. stop is allowed without start, and twice. */
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
 * Called once per window. A sample holds the values of one entity: tags identify it (none here; the host adds its name), and
 * fields are the numbers. The host copies everything into the batch. */
static int32_t add(struct uptime *self, atalaya_batch *batch, atalaya_sample *sample, uint32_t name, double value) {
  const atalaya_field field = {.name = name, .type = ATALAYA_F64, .value = {.f64 = value}};
  return self->host->add_field(self->host->self, batch, sample, &field);
}

static int32_t collect(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error) {
  struct uptime *self = instance;
  double seconds = 0, idle = 0;
  (void)window; /* the host sets the time of the samples; rates need window->monotonic_ns */
  rewind(self->file);
  const int found = fscanf(self->file, "%lf %lf", &seconds, &idle);
  if (found < 1) return fail(error, ATALAYA_RETRY, self->path, "does not hold two numbers");

  atalaya_sample *sample = NULL;
  int32_t code = self->host->add_sample(self->host->self, batch, ATALAYA_METRICS, &sample);
  if (code == ATALAYA_OK) code = add(self, batch, sample, self->seconds, seconds);
  /* Omit an unknown value; never write 0. */
  if (code == ATALAYA_OK && found == 2) code = add(self, batch, sample, self->idle, idle);
  return code;
}

/* ---- 5. The export ----------------------------------------------------------------------------------------------------------
 * Unnamed members are NULL or 0. The note repeats name, version and components, so that the host finds the plugin without
 * opening it; both must be equal. */
static const atalaya_ops ops = {
    .struct_size = sizeof(ops), .create = create, .start = start, .stop = stop, .destroy = destroy, .collect = collect};

static const atalaya_component source = {.struct_size = sizeof(source),
                                         .kind = ATALAYA_SOURCE,
                                         .name = ATALAYA_STR("uptime"),
                                         .summary = ATALAYA_STR("Uptime of the host and idle time of its cores"),
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
