// A profiler that rewrites the IL of every method of one assembly before it is compiled: it puts instructions that do
// nothing in front. Its class is written by hand, because the SDK brings no headers for profilers.
// Environment: REWRITER_ASSEMBLY (a part of the path), REWRITER_LOG (a file that gets a byte for each method).
// Source: dotnet/runtime src/coreclr/inc/corprof.idl (order of the functions), ECMA-335 II.25.4 (method bodies).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ok = 0, no_interface = (int)0x80004002 };
enum { in_front = 8 }; // bytes of IL, a multiple of 4: the sections behind the code keep their alignment
enum { monitor_module_loads = 0x4, monitor_compilation = 0x20 };
// Positions in ICorProfilerInfo.
enum { get_function_info = 15, set_event_mask = 16, get_module_info = 20, get_body = 22, get_allocator = 23, set_body = 24 };

struct object { const void **functions; };
typedef int (*function)();
static struct object *info;

static int is(const uint8_t *id, uint32_t a, uint16_t b, uint16_t c, const char *d) {
  return !memcmp(id, &a, 4) && !memcmp(id + 4, &b, 2) && !memcmp(id + 6, &c, 2) && !memcmp(id + 8, d, 8);
}

static int nothing() { return ok; }
static int counted() { return 1; }

static int query(struct object *self, const uint8_t *id, void **out) {
  const int known = is(id, 0, 0, 0, "\xC0\0\0\0\0\0\0\x46") || is(id, 0x176FBED1, 0xA55C, 0x4796, "\x98\xCA\xA9\xDA\x0E\xF8\x83\xE7") ||
                    is(id, 0x8A8CC829, 0xCCF2, 0x49fe, "\xBB\xAE\x0F\x02\x22\x28\x07\x1A");
  *out = known ? self : 0;
  return known ? ok : no_interface;
}

static int initialize(struct object *self, struct object *unknown) {
  static const uint8_t id[16] = {0x7D, 0x55, 0xB5, 0x28, 0x3F, 0x3F, 0xB4, 0x48, 0x90, 0xB2, 0x5F, 0x9E, 0xEA, 0x2F, 0x6C, 0x48};
  (void)self;
  const int failed = ((function)unknown->functions[0])(unknown, id, &info);
  return failed ? failed : ((function)info->functions[set_event_mask])(info, monitor_module_loads | monitor_compilation);
}

// Moves what the clauses of a section of exception handling name.
static void move_clauses(uint8_t *section) {
  const int fat = section[0] & 0x40;
  const uint32_t size = fat ? section[1] | section[2] << 8 | (uint32_t)section[3] << 16 : section[1];
  const uint32_t clause = fat ? 24 : 12;
  for (uint32_t at = 4; at + clause <= size; at += clause) {
    uint8_t *c = section + at;
    uint32_t filter;
    if (fat) {
      for (int place = 4; place <= 12; place += 8) {
        uint32_t offset;
        memcpy(&offset, c + place, 4);
        offset += in_front;
        memcpy(c + place, &offset, 4);
      }
    } else {
      for (int place = 2; place <= 5; place += 3) {
        uint16_t offset;
        memcpy(&offset, c + place, 2);
        offset = (uint16_t)(offset + in_front);
        memcpy(c + place, &offset, 2);
      }
    }
    if (c[0] != 1) continue; // not a filter
    memcpy(&filter, c + clause - 4, 4);
    filter += in_front;
    memcpy(c + clause - 4, &filter, 4);
  }
}

static int compilation_started(struct object *self, uintptr_t method) {
  uintptr_t type, module, assembly;
  uint32_t token, length, size;
  uint16_t wide[512];
  char name[512];
  const uint8_t *image, *body;
  (void)self;
  if (((function)info->functions[get_function_info])(info, method, &type, &module, &token)) return ok;
  if (((function)info->functions[get_module_info])(info, module, &image, 512, &length, wide, &assembly)) return ok;
  for (uint32_t i = 0; i < 512; i++) name[i] = i < length ? (char)wide[i] : 0;
  name[511] = 0;
  const char *assembly_name = getenv("REWRITER_ASSEMBLY"), *log = getenv("REWRITER_LOG");
  if (!assembly_name || !strstr(name, assembly_name)) return ok;
  if (((function)info->functions[get_body])(info, module, token, &body, &size)) return ok;
  const int tiny = (body[0] & 3) == 2;
  uint8_t header[12] = {0x03, 0x30, 8, 0}; // fat, three words, eight on the stack
  uint32_t code = body[0] >> 2;
  if (!tiny) {
    memcpy(header, body, 12);
    memcpy(&code, body + 4, 4);
  }
  const uint8_t *il = body + (tiny ? 1 : 12);
  const uint32_t rest = tiny ? 0 : size - 12 - code, longer = code + in_front; // rest: padding and sections
  memcpy(header + 4, &longer, 4);
  struct object *allocator;
  if (((function)info->functions[get_allocator])(info, module, &allocator)) return ok;
  uint8_t *made = ((uint8_t * (*)())allocator->functions[3])(allocator, 12 + longer + rest);
  memcpy(made, header, 12);
  memset(made + 12, 0, in_front); // nop
  memcpy(made + 12 + in_front, il, code + rest);
  if (!tiny && (body[0] & 8)) move_clauses(made + 12 + ((longer + 3) & ~3u));
  if (((function)info->functions[set_body])(info, module, token, made)) return ok;
  FILE *file = log ? fopen(log, "a") : 0;
  if (file) {
    fputc('.', file);
    fclose(file);
  }
  return ok;
}

static const void *callbacks[128];
static struct object callback = {callbacks};

static int create(struct object *self, void *outer, const uint8_t *id, void **out) {
  (void)self, (void)outer;
  return query(&callback, id, out);
}
static int itself(struct object *self, const uint8_t *id, void **out) {
  (void)id;
  *out = self;
  return ok;
}
static const void *factory_functions[] = {itself, counted, counted, create, nothing};
static struct object factory = {factory_functions};

int DllGetClassObject(const uint8_t *type, const uint8_t *id, void **out) {
  (void)type, (void)id;
  for (int i = 0; i < 128; i++) callbacks[i] = nothing;
  callbacks[0] = query, callbacks[1] = callbacks[2] = counted, callbacks[3] = initialize, callbacks[23] = compilation_started;
  *out = &factory;
  return ok;
}
