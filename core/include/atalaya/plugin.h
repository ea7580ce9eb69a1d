/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin ABI of Atalaya, layer 1: plain C11. C++ authors use plugin.hpp, which stands on this header only.
 *
 * A plugin is a shared object that exports one function, atalaya_plugin_v1(), which returns constant data: what the plugin
 * is, which components it offers, which parameters each takes, what it emits and what it needs. Nothing is created to read it.
 * ATALAYA_NOTE() leaves the same name, versions and component list in an ELF note, so that a host finds the plugin without
 * running any of its code.
 *
 * Rules that hold for everything below
 *  - Every struct begins with struct_size, except the frozen value types (str, tag, field, sample) and elements of arrays, whose
 *    size stands beside the array. Members are only ever appended; a member is read only if the size covers it.
 *  - Strings are pointer + length, UTF-8 by convention, not terminated, any byte allowed. {NULL, 0} is the empty string.
 *  - Sizes and layout are those of LP64 (x86-64, arm64). Times are Unix nanoseconds, spans of time are nanoseconds.
 *  - An operation returns one of the codes below. On anything but OK, NOTHING and END it may write a sentence to the error.
 *  - Nobody frees the other's memory. What a host function hands out stays valid until the call into the plugin returns, unless its
 *    comment says otherwise. Everything a batch points to lies in that batch's arena.
 *  - Threads: the host calls one instance from one thread at a time. Only `interrupt` and `acked` may come from another thread while
 *    a call runs; they may only note what happened and wake the call.
 *  - A plugin does not touch signals, locale, working directory, umask or exit. */
#ifndef ATALAYA_PLUGIN_H
#define ATALAYA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function ABI: same major, and the host's minor at least the plugin's. 0.x until all kinds have real users. */
#define ATALAYA_ABI_MAJOR 0
#define ATALAYA_ABI_MINOR 1
/* The layout of samples and batches, versioned apart: equal or refused. */
#define ATALAYA_SAMPLE_LAYOUT 1

/* ---- Codes: what the host should do -------------------------------------------------------------------------------------- */
#define ATALAYA_OK 0          /* done */
#define ATALAYA_NOTHING 1     /* handled, there is nothing now; not an error */
#define ATALAYA_END 2         /* a source: it is finished, do not call again; not an error */
#define ATALAYA_RETRY 3       /* did not work now, try again later */
#define ATALAYA_BAD_CONFIG 4  /* the parameters cannot work: tell the operator, do not retry */
#define ATALAYA_PERMANENT 5   /* this input will never work: do not retry it */
#define ATALAYA_UNSUPPORTED 6 /* this host cannot do it (kernel, hardware, privilege): switch the feature off, say why once */

/* ---- Frozen value types -------------------------------------------------------------------------------------------------- */
typedef struct atalaya_str {
  const char *data;
  uint64_t size;
} atalaya_str;

typedef struct atalaya_tag {
  uint32_t key; /* interned name */
  uint32_t reserved;
  atalaya_str value;
} atalaya_tag;

#define ATALAYA_F64 0
#define ATALAYA_I64 1
typedef struct atalaya_field {
  uint32_t name; /* interned name */
  uint32_t type; /* ATALAYA_F64 (a measurement) or ATALAYA_I64 (a count) */
  union {
    double f64;
    int64_t i64;
  } value;
} atalaya_field;

/* ---- Samples and batches (layout ATALAYA_SAMPLE_LAYOUT) -------------------------------------------------------------------- */
#define ATALAYA_METRICS 0 /* fields at a time */
#define ATALAYA_STACK 1   /* text = folded call stack, a count in the window */
#define ATALAYA_SPAN 2    /* text = name, time = start, duration = length; -1 while it is open */

typedef struct atalaya_sample {
  uint32_t kind;
  uint32_t tag_count, field_count;
  uint32_t capacity; /* room in the arrays: tags in the low half, fields in the high half, as made by the host's functions
                        (reserve, add_tag, add_field). Set it to 0 when you point tags or fields at memory of your own. */
  int64_t time_ns;     /* end of the window, or start of the span; 0: the host stamps it with the window */
  int64_t duration_ns; /* length of the window, or of the span; 0 = an instant */
  atalaya_tag *tags;
  atalaya_field *fields;
  atalaya_str text;
} atalaya_sample;

typedef struct atalaya_batch {
  uint32_t struct_size, sample_size; /* sample_size is the stride of samples */
  uint64_t count;
  atalaya_sample *samples;
  void *arena; /* the host's */
} atalaya_batch;

/* The window a collection or a stage works on. */
#define ATALAYA_WINDOW_BASELINE 1u /* take readings, give gauges, but no rate and no delta: first reading, clock step, suspend */
/* Of components with ATALAYA_HOLDS, before stop: emit held samples, take no readings. BASELINE is set, too. It may come more than once,
 * and windows may follow, when a branch goes on after its parent. Others that get the samples see a baseline without a length. */
#define ATALAYA_WINDOW_LAST 2u
typedef struct atalaya_window {
  uint32_t struct_size, flags;
  int64_t time_ns;      /* its end, Unix ns: a multiple of the interval, if the collection is punctual within 1 % of it; else the time of
                         * the collection (the first one after a start: now; LAST: as before) */
  int64_t duration_ns;  /* the time since the source's last window; 0 with BASELINE and LAST */
  int64_t interval_ns;  /* the pipeline's `every` */
  int64_t monotonic_ns; /* CLOCK_MONOTONIC of time_ns. Rates are differences of counters divided by differences of it, not of another
                         * clock: then rate x duration_ns is exactly the difference */
} atalaya_window;

/* A text for people: what happened, where, what to do. The caller owns it. */
typedef struct atalaya_error {
  uint32_t struct_size;
  uint32_t reserved;
  char text[504]; /* terminated */
} atalaya_error;

/* ---- What a plugin says of itself ---------------------------------------------------------------------------------------- */
#define ATALAYA_SOURCE 1
#define ATALAYA_TRANSLATOR 2
#define ATALAYA_FILTER 3
#define ATALAYA_SINK 4
#define ATALAYA_COMMAND 5

#define ATALAYA_BOOL 1
#define ATALAYA_INT 2      /* int64 */
#define ATALAYA_NUMBER 3   /* double */
#define ATALAYA_STRING 4
#define ATALAYA_DURATION 5 /* written "250ms", "5s", "1h30m"; read as int64 ns */
#define ATALAYA_SIZE 6     /* written "64 KiB", "1 GiB"; read as int64 bytes */
#define ATALAYA_ENUM 7     /* one word of `allowed` */
#define ATALAYA_LIST 8     /* items[0] describes the elements */
#define ATALAYA_MAP 9      /* free keys; items[0] describes the values */
#define ATALAYA_RECORD 10  /* items describe the members */

#define ATALAYA_REQUIRED 1u /* param flag: no default, must be written */
#define ATALAYA_BOUNDED 2u  /* param flag: min and max hold (in the unit the value is read in) */

typedef struct atalaya_param {
  atalaya_str name;         /* "*": any key that no other parameter has and that matches the glob in `allowed` */
  uint32_t type, flags;
  atalaya_str default_text; /* as an operator would write it; empty: absent unless written */
  atalaya_str allowed;      /* ENUM: words joined by '|'; name "*": a glob for the keys */
  atalaya_str unit;         /* of INT and NUMBER, "" if none */
  atalaya_str summary;      /* one sentence */
  double min, max;          /* with ATALAYA_BOUNDED */
  const struct atalaya_param *items;
  uint32_t item_count, item_size;
} atalaya_param;

#define ATALAYA_GAUGE 1
#define ATALAYA_RATE 2  /* per second */
#define ATALAYA_DELTA 3 /* amount in the window */
#define ATALAYA_TOTAL 4 /* amount since the entity's start; a decrease is a reset */

#define ATALAYA_TAG_IDENTITY 1 /* without it two series would merge */
#define ATALAYA_TAG_EXTRA 2    /* may be dropped */
typedef struct atalaya_metric_tag {
  atalaya_str key;
  uint32_t role, reserved;
} atalaya_metric_tag;

typedef struct atalaya_metric {
  atalaya_str name, unit; /* unit: UCUM ("By/s", "MiBy", "%", "Cel", "1", "{sample}") */
  uint32_t kind;
  int32_t decimals; /* rounded to at emission; -1: an int64 count */
  const atalaya_metric_tag *tags;
  uint32_t tag_count, tag_size;
  atalaya_str source;  /* where it is read from: file and field */
  atalaya_str summary; /* one sentence */
} atalaya_metric;

/* The catalogue's answer about a metric. The strings are valid for the life of the process. */
typedef struct atalaya_metric_info {
  uint32_t struct_size, kind; /* ATALAYA_GAUGE to ATALAYA_TOTAL, never 0 */
  int32_t decimals;
  uint32_t reserved;
  atalaya_str unit; /* UCUM, "1" for a number without a unit */
  atalaya_str summary, source;
} atalaya_metric_info;

#define ATALAYA_NEED_CAPABILITY 1 /* "CAP_SYS_PTRACE" */
#define ATALAYA_NEED_FILE 2       /* "/proc/pressure", "/sys/class/{a,b*}" */
#define ATALAYA_NEED_KERNEL 3     /* "CONFIG_PSI" */
typedef struct atalaya_need {
  uint32_t type;
  uint32_t optional; /* 1: without it the component works with less */
  atalaya_str name;
  atalaya_str reason; /* what is lost without it */
  /* The part of the component that this need and those with the same feature make possible, a word such as "bpf"; "" = all of it. */
  atalaya_str feature;
} atalaya_need;

struct atalaya_host;
struct atalaya_component;

/* Which operations a component must have:
 *   all: create start stop destroy      source (pull): collect        source (push): run interrupt
 *   translator, filter: process         sink: write                   command: command
 * States: create, start, work, stop, destroy. stop is legal without start, and twice. create validates and opens nothing outside; files,
 * sockets and programs are opened in start. */
typedef struct atalaya_ops {
  uint32_t struct_size, reserved;
  int32_t (*create)(const struct atalaya_host *host, const struct atalaya_component *component, void **instance,
                    atalaya_error *error); /* host stays valid until destroy returns */
  int32_t (*start)(void *instance, atalaya_error *error);
  int32_t (*stop)(void *instance, atalaya_error *error);
  void (*destroy)(void *instance);
  /* A pull source adds the samples of one window to the batch (it may already hold those of other sources). */
  int32_t (*collect)(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error);
  /* A push source works until interrupted; it emits batches. Returns END when it is finished, OK when interrupted. */
  int32_t (*run)(void *instance, atalaya_error *error);
  /* Optional. Every sink holds the emitted batch durably (OK) or it was refused (PERMANENT). Any thread. */
  void (*acked)(void *instance, uint64_t batch_id, int32_t status);
  /* Wakes a run that waits, which then returns soon; called again until it does. A command that has it hears of SIGINT and SIGTERM so,
   * else they end the process. Any thread. */
  void (*interrupt)(void *instance);
  /* Edits the batch in place or replaces its samples from the batch's arena; a filter compacts it. Called every window, also
   * with no samples. Samples that disappear are counted as dropped, unless the stage counts them by host->count. */
  int32_t (*process)(void *instance, const atalaya_window *window, atalaya_batch *batch, atalaya_error *error);
  /* OK: the sink has the batch, durably if it claims so. RETRY: nothing was taken; *retry_after_ns may say when (0: the
   * host's back-off). PERMANENT: the whole batch is refused. Single refused samples: OK, and host->count(DROPPED) for them. */
  int32_t (*write)(void *instance, const atalaya_batch *batch, int64_t *retry_after_ns, atalaya_error *error);
  /* Optional: hand everything on before the deadline (CLOCK_MONOTONIC). */
  int32_t (*flush)(void *instance, int64_t deadline_ns, atalaya_error *error);
  /* A command: its exit status (0 done, 1 failed, 2 wrong use) goes to *status. Parameters are its options, argv the other words. Results
   * go to standard output. */
  int32_t (*command)(void *instance, uint64_t argc, const atalaya_str *argv, int32_t *status, atalaya_error *error);
} atalaya_ops;

#define ATALAYA_PUSH 1u     /* component flag: a source with run instead of collect */
#define ATALAYA_BLOCKING 2u /* component flag: collect may block; it gets a thread of its own */
#define ATALAYA_HOLDS 4u    /* component flag: a pull source or a stage that holds samples longer than a window: see WINDOW_LAST */
typedef struct atalaya_component {
  uint32_t struct_size, kind;
  uint32_t flags, reserved;
  atalaya_str name, summary; /* lower_snake name, unique among its kind; one line */
  const atalaya_param *params;
  uint32_t param_count, param_size;
  const atalaya_metric *metrics;
  uint32_t metric_count, metric_size;
  const atalaya_need *needs;
  uint32_t need_count, need_size;
  const atalaya_ops *ops;
  /* A command: its words ("FILE", "start|end NAME"; empty: none), lines "WORD  its meaning", and examples, one per line. */
  atalaya_str operands, example;
} atalaya_component;

typedef struct atalaya_plugin {
  uint32_t struct_size;
  uint16_t abi_major, abi_minor;
  uint32_t sample_layout, reserved;
  atalaya_str name, version;
  const atalaya_component *const *components; /* pointers: a component may grow */
  uint64_t component_count;
} atalaya_plugin;

/* ---- What the host offers -------------------------------------------------------------------------------------------------- */
#define ATALAYA_LOG_ERROR 1
#define ATALAYA_LOG_WARNING 2
#define ATALAYA_LOG_INFO 3
#define ATALAYA_LOG_DEBUG 4

#define ATALAYA_CLOCK_MONOTONIC 0
#define ATALAYA_CLOCK_REALTIME 1

#define ATALAYA_COUNT_DROPPED 1     /* with a reason */
#define ATALAYA_COUNT_MERGED 2      /* went into another sample (aggregate, top) */
#define ATALAYA_COUNT_CREATED 3     /* made by this stage */
#define ATALAYA_COUNT_DEAD_LETTER 4 /* a sink: its receiver will never take them; kept in a file for people to look at */

/* A parameter's value. */
typedef struct atalaya_value {
  uint32_t struct_size, type; /* as declared */
  union {
    int64_t i64; /* BOOL 0/1, INT, DURATION ns, SIZE bytes */
    double f64;  /* NUMBER */
  } value;
  atalaya_str text; /* STRING, ENUM; valid as long as the instance */
  uint64_t count;   /* LIST, MAP, RECORD: number of children */
  atalaya_str key;  /* of a child: its key; of a list's element: empty */
} atalaya_value;

/* One row of the running agent's ledger, for the source `self`. Counts are samples since the start. */
#define ATALAYA_ROW_SOURCE 1 /* out = samples given, gaps = windows skipped */
#define ATALAYA_ROW_STAGE 2  /* in + created = out + dropped + merged */
#define ATALAYA_ROW_SINK 3   /* in = out + dropped + dead_letter + queued */
#define ATALAYA_ROW_DROP 4   /* dropped = count for `reason`; component as in the row it belongs to */
typedef struct atalaya_ledger_row {
  uint32_t struct_size, type;
  atalaya_str pipeline, component, reason; /* component: "3 filter value"; position, kind, name */
  int64_t in, created, out, dropped, merged, dead_letter;
  int64_t queued, queued_bytes; /* samples and bytes waiting, in flight included */
  int64_t gaps, errors;
  int64_t busy_ns; /* time spent in its calls */
} atalaya_ledger_row;

typedef struct atalaya_host {
  uint32_t struct_size, reserved;
  void *self; /* first argument of every function below */

  /* Any thread. Repeated lines are limited by the host. */
  void (*log)(void *self, int32_t level, atalaya_str text);
  /* Any thread. The id of a name, the same in every plugin of the process; 0 when the table is full. Do it once, in create. */
  uint32_t (*intern)(void *self, atalaya_str name);
  /* Any thread. The name of an id, valid for the life of the process; NOTHING for an unknown id. */
  int32_t (*name_of)(void *self, uint32_t id, atalaya_str *name);
  /* Any thread. */
  int64_t (*now)(void *self, int32_t clock);
  /* Any thread. Adds to the ledger of this instance: COUNT_DROPPED with a short constant reason, COUNT_MERGED, COUNT_CREATED. */
  void (*count)(void *self, int32_t what, atalaya_str reason, uint64_t samples);

  /* The instance's own thread, for a batch that it was handed. They return NULL or RETRY only when memory is out. */
  void *(*allocate)(void *self, atalaya_batch *batch, uint64_t size, uint64_t alignment);
  int32_t (*reserve_samples)(void *self, atalaya_batch *batch, uint64_t more); /* room for `more` beyond count */
  int32_t (*add_sample)(void *self, atalaya_batch *batch, uint32_t kind, atalaya_sample **sample); /* pointer until the next add */
  int32_t (*reserve)(void *self, atalaya_batch *batch, atalaya_sample *sample, uint32_t tags, uint32_t fields);
  int32_t (*add_tag)(void *self, atalaya_batch *batch, atalaya_sample *sample, uint32_t key, atalaya_str value); /* copies */
  int32_t (*add_field)(void *self, atalaya_batch *batch, atalaya_sample *sample, const atalaya_field *field);

  /* create and start only. The parameter at a path such as "spool.dir" or "rules[3].match"; NOTHING when it is absent. */
  int32_t (*param)(void *self, atalaya_str path, atalaya_value *value);
  /* The index-th child of the list, map or record at the path ("" = all parameters); NOTHING past the end. */
  int32_t (*param_child)(void *self, atalaya_str path, uint64_t index, atalaya_value *value);

  /* Push sources, from run. new_batch gives an empty batch; emit takes it back, sets *id for acked, and waits while the
   * pipeline is full. END: the host is stopping, the batch was not taken. */
  int32_t (*new_batch)(void *self, atalaya_batch **batch);
  int32_t (*emit)(void *self, atalaya_batch *batch, uint64_t *id);

  /* Any thread. A folder of this instance's own, made on the first call; NOTHING when there is none (check, try). */
  int32_t (*state_dir)(void *self, atalaya_str *path);
  /* The instance's own thread. Row 0 takes a new snapshot of the agent's ledger; NOTHING past the end. */
  int32_t (*ledger)(void *self, uint64_t row, atalaya_ledger_row *out);

  /* The metric catalogue. It has the metrics of all loaded components and those declared at run time, here or by a sender.
   * Any thread, without a lock. The caller sets info->struct_size. NOTHING when nobody declared the metric. */
  int32_t (*metric_of)(void *self, uint32_t id, atalaya_metric_info *info);
  /* Any thread. Declares a metric whose name is known only at run time; the host copies it. OK, also when it is declared the same
   * (unit, kind, decimals) already. PERMANENT: the name is declared differently; the first declaration holds, the host counts the
   * conflict and logs it once per name. BAD_CONFIG: invalid name, unit, kind or decimals. RETRY: the catalogue is full. */
  int32_t (*declare_metric)(void *self, const atalaya_metric *metric, uint32_t metric_size);
} atalaya_host;

/* ---- The exported function and the note ---------------------------------------------------------------------------------------- */
#define ATALAYA_EXPORT __attribute__((visibility("default")))
ATALAYA_EXPORT const atalaya_plugin *atalaya_plugin_v1(void);

#define ATALAYA_STR(literal) { literal, sizeof(literal) - 1 }

/* The ELF note that a host reads before it opens the file: owner "atalaya", type ATALAYA_NOTE_TYPE, then this header and the text
 * "NAME VERSION\n" followed by a line "KIND NAME" a component, kinds as words: "source proc\nfilter top". */
#define ATALAYA_NOTE_TYPE 1
typedef struct atalaya_note_header {
  uint32_t name_size, text_and_versions_size, type; /* Elf64_Nhdr */
  char owner[8];                                    /* "atalaya" */
  uint16_t abi_major, abi_minor;
  uint32_t sample_layout;
} atalaya_note_header;

#define ATALAYA_NOTE(plugin_name, plugin_version, component_lines)                                                     \
  __attribute__((used, aligned(4), section(".note.atalaya"))) static const struct {                                    \
    atalaya_note_header header;                                                                                        \
    char text[(sizeof(plugin_name " " plugin_version "\n" component_lines) + 3) / 4 * 4];                              \
  } atalaya_note_data = {{8, 8 + (sizeof(plugin_name " " plugin_version "\n" component_lines) + 3) / 4 * 4,            \
                          ATALAYA_NOTE_TYPE, {'a', 't', 'a', 'l', 'a', 'y', 'a', 0},                                   \
                          ATALAYA_ABI_MAJOR, ATALAYA_ABI_MINOR, ATALAYA_SAMPLE_LAYOUT},                                \
                         plugin_name " " plugin_version "\n" component_lines}

#ifdef __cplusplus
}
#endif
#endif
