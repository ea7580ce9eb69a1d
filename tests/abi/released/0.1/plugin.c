/* SPDX-License-Identifier: Apache-2.0
 * A plugin as an author wrote it for this release: a component of each kind, which together use every function of the host. Only
 * released with a new release; plugin-x86_64.so is what it was compiled to then. released_test.cpp says what it has to do. */
#include "plugin.h"

#include <stdlib.h>
#include <threads.h>
#include <time.h>

struct instance {
  const atalaya_host *host;
  uint32_t name, key;
  int64_t number; /* the parameter */
  uint64_t emitted, acked;
  int32_t interrupted;
};

static int same(atalaya_str a, atalaya_str b) {
  uint64_t i = 0;
  if (a.size != b.size) return 0;
  while (i < a.size && a.data[i] == b.data[i]) ++i;
  return i == a.size;
}

/* ---- Life ------------------------------------------------------------------------------------------------------------------ */
static int32_t refuse(atalaya_error *error, const char *why) {
  uint64_t i = 0;
  for (; why[i] != 0; ++i) error->text[i] = why[i];
  error->text[i] = 0;
  return ATALAYA_BAD_CONFIG;
}

static int32_t create(const atalaya_host *host, const atalaya_component *component, void **out, atalaya_error *error) {
  static const atalaya_str number = ATALAYA_STR("number"), everything = ATALAYA_STR(""), name = ATALAYA_STR("released.number"),
                           key = ATALAYA_STR("kind");
  atalaya_value value = {.struct_size = sizeof(value)}, child = {.struct_size = sizeof(child)};
  (void)component;
  if (host->param(host->self, number, &value) != ATALAYA_OK) return refuse(error, "number is absent");
  if (value.value.i64 == 13) return refuse(error, "13 is not a number for this");
  if (host->param_child(host->self, everything, 0, &child) != ATALAYA_OK || !same(child.key, number))
    return refuse(error, "the parameters cannot be walked");
  if (host->param_child(host->self, everything, 1, &child) != ATALAYA_NOTHING) return refuse(error, "too many parameters");
  struct instance *self = calloc(1, sizeof(*self));
  if (self == NULL) return ATALAYA_RETRY;
  self->host = host;
  self->name = host->intern(host->self, name);
  self->key = host->intern(host->self, key);
  self->number = value.value.i64;
  *out = self;
  return ATALAYA_OK;
}
static int32_t start(void *instance, atalaya_error *error) {
  struct instance *self = instance;
  static const atalaya_str text = ATALAYA_STR("started");
  atalaya_str folder = {NULL, 0};
  (void)error;
  self->host->log(self->host->self, ATALAYA_LOG_INFO, text);
  if (self->host->state_dir(self->host->self, &folder) == ATALAYA_OK)
    self->host->log(self->host->self, ATALAYA_LOG_INFO, folder);
  return ATALAYA_OK;
}
static int32_t stop(void *instance, atalaya_error *error) {
  (void)instance;
  (void)error;
  return ATALAYA_OK;
}
static void destroy(void *instance) {
  free(instance);
}

/* ---- Sources --------------------------------------------------------------------------------------------------------------- */
static int32_t add(struct instance *self, atalaya_batch *batch, int64_t number) {
  const atalaya_host *host = self->host;
  static const atalaya_str kind = ATALAYA_STR("released");
  const atalaya_field field = {self->name, ATALAYA_I64, {.i64 = number}};
  atalaya_sample *sample = NULL;
  int32_t code = host->reserve_samples(host->self, batch, 1);
  if (code == ATALAYA_OK) code = host->add_sample(host->self, batch, ATALAYA_METRICS, &sample);
  if (code == ATALAYA_OK) code = host->reserve(host->self, batch, sample, 1, 1);
  if (code == ATALAYA_OK) code = host->add_tag(host->self, batch, sample, self->key, kind);
  if (code == ATALAYA_OK) code = host->add_field(host->self, batch, sample, &field);
  return code;
}

/* Its number, and how many rows the agent's ledger has when the host tells it. */
static int32_t collect(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error) {
  struct instance *self = instance;
  const atalaya_host *host = self->host;
  atalaya_ledger_row row = {.struct_size = sizeof(row)};
  uint64_t rows = 0;
  (void)error;
  if (window->interval_ns <= 0 || host->now(host->self, ATALAYA_CLOCK_MONOTONIC) <= 0) return ATALAYA_RETRY;
  while (host->ledger(host->self, rows, &row) == ATALAYA_OK) ++rows;
  const int32_t code = add(self, batch, self->number);
  return code == ATALAYA_OK && rows > 0 ? add(self, batch, (int64_t)rows) : code;
}

static int32_t run(void *instance, atalaya_error *error) {
  struct instance *self = instance;
  const atalaya_host *host = self->host;
  (void)error;
  while (!__atomic_load_n(&self->interrupted, __ATOMIC_ACQUIRE)) {
    atalaya_batch *batch = NULL;
    int32_t code = host->new_batch(host->self, &batch);
    if (code == ATALAYA_OK) code = add(self, batch, self->number);
    if (code != ATALAYA_OK) return code;
    if (host->emit(host->self, batch, &self->emitted) != ATALAYA_OK) return ATALAYA_OK;
    thrd_sleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return ATALAYA_END;
}
static void interrupt(void *instance) {
  struct instance *self = instance;
  __atomic_store_n(&self->interrupted, 1, __ATOMIC_RELEASE);
}
static void acked(void *instance, uint64_t batch_id, int32_t status) {
  struct instance *self = instance;
  if (status == ATALAYA_OK && batch_id != 0) interrupt(self); /* it was heard: that is all it wanted to know */
}

/* ---- Stages ---------------------------------------------------------------------------------------------------------------- */
/* Writes the name of its first field on each sample, as its text. */
static int32_t translate(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error) {
  struct instance *self = instance;
  const atalaya_host *host = self->host;
  (void)window;
  (void)error;
  for (uint64_t i = 0; i < batch->count; ++i) {
    atalaya_sample *sample = (atalaya_sample *)(void *)((char *)batch->samples + i * batch->sample_size);
    atalaya_str name = {NULL, 0};
    if (sample->field_count == 0 || host->name_of(host->self, sample->fields[0].name, &name) != ATALAYA_OK) continue;
    char *text = host->allocate(host->self, batch, name.size, 1);
    if (text == NULL) return ATALAYA_RETRY;
    for (uint64_t byte = 0; byte < name.size; ++byte) text[byte] = name.data[byte];
    sample->text.data = text;
    sample->text.size = name.size;
  }
  return ATALAYA_OK;
}

/* Keeps every second sample, and says where the others are. */
static int32_t thin_out(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error) {
  struct instance *self = instance;
  static const atalaya_str reason = ATALAYA_STR("odd one out");
  const uint64_t before = batch->count;
  char *samples = (char *)batch->samples;
  uint64_t kept = 0;
  (void)window;
  (void)error;
  for (uint64_t i = 0; i < before; i += 2, ++kept)
    for (uint32_t byte = 0; byte < batch->sample_size; ++byte)
      samples[kept * batch->sample_size + byte] = samples[i * batch->sample_size + byte];
  batch->count = kept;
  self->host->count(self->host->self, ATALAYA_COUNT_DROPPED, reason, before - kept);
  return ATALAYA_OK;
}

/* ---- The ends -------------------------------------------------------------------------------------------------------------- */
/* Takes one batch of two. */
static int32_t write(void *instance, const atalaya_batch *batch, int64_t *retry_after_ns, atalaya_error *error) {
  struct instance *self = instance;
  (void)error;
  if (++self->emitted % 2 == 1 || batch->count == 0) return ATALAYA_OK;
  *retry_after_ns = self->number;
  return ATALAYA_RETRY;
}
static int32_t flush(void *instance, int64_t deadline_ns, atalaya_error *error) {
  (void)instance;
  (void)error;
  return deadline_ns > 0 ? ATALAYA_OK : ATALAYA_RETRY;
}
static int32_t command(void *instance, uint64_t argc, const atalaya_str *argv, int32_t *status, atalaya_error *error) {
  static const atalaya_str fail = ATALAYA_STR("fail");
  (void)instance;
  (void)error;
  *status = argc > 0 && same(argv[argc - 1], fail) ? 1 : 0;
  return ATALAYA_OK;
}

/* ---- What it says of itself ------------------------------------------------------------------------------------------------ */
static const atalaya_param params[] = {{.name = ATALAYA_STR("number"),
                                        .type = ATALAYA_INT,
                                        .flags = ATALAYA_BOUNDED,
                                        .default_text = ATALAYA_STR("42"),
                                        .summary = ATALAYA_STR("What it gives."),
                                        .min = 0,
                                        .max = 1000}};
static const atalaya_metric_tag tags[] = {{ATALAYA_STR("kind"), ATALAYA_TAG_IDENTITY, 0}};
static const atalaya_metric metrics[] = {{.name = ATALAYA_STR("released.number"),
                                          .unit = ATALAYA_STR("1"),
                                          .kind = ATALAYA_GAUGE,
                                          .decimals = -1,
                                          .tags = tags,
                                          .tag_count = 1,
                                          .tag_size = sizeof(tags[0]),
                                          .source = ATALAYA_STR("the parameter"),
                                          .summary = ATALAYA_STR("The parameter.")}};
static const atalaya_need needs[] = {{.type = ATALAYA_NEED_FILE,
                                      .optional = 1,
                                      .name = ATALAYA_STR("/proc/self"),
                                      .reason = ATALAYA_STR("nothing is lost")}};

#define LIFE .struct_size = sizeof(atalaya_ops), .create = create, .start = start, .stop = stop, .destroy = destroy
static const atalaya_ops pull_ops = {LIFE, .collect = collect}, push_ops = {LIFE, .run = run, .acked = acked, .interrupt = interrupt},
                         translator_ops = {LIFE, .process = translate}, filter_ops = {LIFE, .process = thin_out},
                         sink_ops = {LIFE, .write = write, .flush = flush}, command_ops = {LIFE, .command = command};

#define DESCRIBED(what, word)                                                                                              \
  .struct_size = sizeof(atalaya_component), .kind = what, .name = ATALAYA_STR(word), .summary = ATALAYA_STR("For a test."), \
  .params = params, .param_count = 1, .param_size = sizeof(params[0])
#define EMITS .metrics = metrics, .metric_count = 1, .metric_size = sizeof(metrics[0])
static const atalaya_component pull = {DESCRIBED(ATALAYA_SOURCE, "released"), EMITS, .needs = needs, .need_count = 1,
                                       .need_size = sizeof(needs[0]), .ops = &pull_ops},
                               push = {DESCRIBED(ATALAYA_SOURCE, "released_push"), EMITS, .flags = ATALAYA_PUSH, .ops = &push_ops},
                               translator = {DESCRIBED(ATALAYA_TRANSLATOR, "released"), .ops = &translator_ops},
                               filter = {DESCRIBED(ATALAYA_FILTER, "released"), .ops = &filter_ops},
                               sink = {DESCRIBED(ATALAYA_SINK, "released"), .ops = &sink_ops},
                               runs = {DESCRIBED(ATALAYA_COMMAND, "released"), .ops = &command_ops};
static const atalaya_component *const components[] = {&pull, &push, &translator, &filter, &sink, &runs};

ATALAYA_NOTE("released", "0.1.0",
             "source released\nsource released_push\ntranslator released\nfilter released\nsink released\ncommand released");

const atalaya_plugin *atalaya_plugin_v1(void) {
  static const atalaya_plugin plugin = {.struct_size = sizeof(plugin),
                                        .abi_major = ATALAYA_ABI_MAJOR,
                                        .abi_minor = ATALAYA_ABI_MINOR,
                                        .sample_layout = ATALAYA_SAMPLE_LAYOUT,
                                        .name = ATALAYA_STR("released"),
                                        .version = ATALAYA_STR("0.1.0"),
                                        .components = components,
                                        .component_count = sizeof(components) / sizeof(components[0])};
  return &plugin;
}
