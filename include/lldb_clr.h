/* lldb-clr for other languages: the knowledge of the plugin's commands, as plain C functions.
 *
 * Two libraries have these functions. libclr.so is not linked to LLDB and reads core files. liblldb-clr.so,
 * the plugin, also reads the processes and cores that are open in LLDB; an LLDB must have loaded it
 * (`plugin load`) before its processes can be opened here.
 *
 * Rules for all functions:
 *  - A `clr_error` belongs to the caller and may be null. A call that fails fills it in and returns null or
 * -1 (clr_publish: 0); a call that succeeds sets its status to CLR_OK. No exception leaves a function.
 *  - Handles are made and freed by pairs of functions: clr_open_* / clr_close, a query / clr_rows_close,
 *    clr_symbolize / clr_symbols_close, clr_heap_table / clr_table_close. Null may be closed. A query keeps
 * its process open, so the order of closing does not matter.
 *  - Text and arrays that a call returns belong to the handle; each call says how long they are valid.
 *  - A handle, and all handles that were made from it, may be used by only one thread at a time. Handles of
 * one debugger share their caches, so they count as one. The handles of libclr.so are independent.
 *  - A process is read at one stop. When it has run since, every call answers CLR_STALE: open it again.
 *  - JSON has the form of the commands' --json (python/docs/schema.json); UTF-8.
 */
#ifndef LLDB_CLR_H
#define LLDB_CLR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* New functions may be added without a new number. Existing ones keep their meaning within one number. The
 * number stands in the name of libclr.so.1, too: a program loads the library of the number that it was
 * compiled with. */
#define CLR_API_VERSION 1u

#if defined(__GNUC__)
#define CLR_API __attribute__((visibility("default")))
#else
#define CLR_API
#endif

enum clr_status {
  CLR_OK = 0,
  CLR_MEMORY_MISSING = 1, /* the target has no such memory, or the core lacks it; `address` is its address */
  CLR_CORRUPT = 2,        /* data of the target or of a file contradicts itself */
  CLR_UNSUPPORTED = 3,    /* this contract, format or library does not allow it */
  CLR_INVALID = 4,        /* the caller asked for something impossible */
  CLR_IO = 5,             /* a file of this host could not be used */
  CLR_STALE = 6,          /* the process has run, or is gone */
  CLR_NO_MEMORY = 7,
  CLR_INTERNAL = 8,         /* a defect of this library: please report it */
  CLR_REGISTER_UNKNOWN = 9, /* a frame needs a register whose value nothing tells */
  CLR_NO_PROCESS = 10,      /* there is no process or core to ask, or it has ended */
  CLR_RUNNING = 11,         /* the process has to stop before it can be read */
  CLR_BUSY = 12,            /* another command is at work on the same process */
  CLR_INTERRUPTED = 13      /* the user stopped the work before it was done */
};

typedef struct clr_error {
  int32_t status;      /* enum clr_status */
  int32_t has_address; /* 1: `address` is the place of the fault in the target */
  uint64_t address;
  /* One sentence, cut to fit, always terminated. What a terminal obeys of the target's names is escaped in it
   * (\xNN, \uNNNN), as in the output of commands. */
  char text[1024];
} clr_error;

typedef struct clr_runtime clr_runtime; /* one process or core at one stop */
typedef struct clr_rows clr_rows;       /* the answer of a query, row by row */
typedef struct clr_symbols clr_symbols; /* the answer of clr_symbolize */

/* CLR_API_VERSION of the library; the version of the product, "0.1.0". */
CLR_API uint32_t clr_api_version(void);
CLR_API const char* clr_version(void);

/* Opens an ELF core. A core without a runtime can be opened; queries say what is missing. `options` may be
 * null, or a JSON object: "sysroot": text, "path_map": [[from, to]...], "directories": [text...] (searched by
 * file name), "symbols": [text...] (folders of PDBs), "symbol_files": [text...] (perf maps, jitdumps, ...).
 */
CLR_API clr_runtime* clr_open_core(const char* path, const char* options, clr_error* error);

/* The process of target number `target` of the debugger with id `debugger` (SBDebugger::GetID,
 * SBDebugger::GetIndexOfTarget); `process` is SBProcess::GetUniqueID, so that it cannot be confused with
 * another process. The process must be stopped. The options are those of `clr settings` and `clr symbols` of
 * that debugger. */
CLR_API clr_runtime* clr_open_process(uint64_t debugger, uint32_t target, uint32_t process, clr_error* error);

/* 1 when the plugin has its commands in the debugger with this id, else 0. */
CLR_API int clr_debugger_known(uint64_t debugger);

CLR_API void clr_close(clr_runtime* runtime);

/* 1 while the process is at the stop at which it was opened; always 1 for a core file. Also 0 while another
 * command is at work on the process. Cost: no reads. */
CLR_API int clr_is_current(clr_runtime* runtime);

/* Gives LLDB's own commands and API all managed code of the process, as `clr publish --wait` does, and
 * returns 1 when that is done; nothing is done again at a stop where it was. 0 and an error: CLR_UNSUPPORTED
 * for a core that was opened without a debugger, which has nobody to publish to; CLR_INVALID when publishing
 * is off; CLR_INTERRUPTED when the user interrupted it; CLR_STALE. */
CLR_API int clr_publish(clr_runtime* runtime, clr_error* error);

/* Queries. Each comment describes the rows that clr_rows_next returns. A query reads nothing before its first
 * row is requested, unless its comment says otherwise. */

/* One row: the output of `clr info --json`. With counts it reads every nibble map; without them, the counts
 * and modules are absent. */
CLR_API clr_rows* clr_query_info(clr_runtime* runtime, int counts, clr_error* error);
/* One row: an element of `clrip2md --json`. */
CLR_API clr_rows* clr_query_address(clr_runtime* runtime, uint64_t address, clr_error* error);

#define CLR_METHODS_JITTED 1u /* bodies in code heaps */
#define CLR_METHODS_R2R 2u    /* ReadyToRun methods, those that never ran too */
/* Rows of `clr methods --json`, found on request. `pattern` may be null, which selects every method;
 * otherwise the whole full name or the whole name must match it (* and ?). End: {"problems": [text...]}. */
CLR_API clr_rows* clr_query_methods(clr_runtime* runtime, const char* pattern, uint32_t kinds,
                                    clr_error* error);
/* The "modules" of `clr info --json`. */
CLR_API clr_rows* clr_query_modules(clr_runtime* runtime, clr_error* error);
/* The threads of the process in the order of its debugger or core, then those that only the runtime knows:
 * rows of `clr threads --json` with "selected" and without "waits_for", which clr_query_waits tells; fields
 * that the runtime does not know are absent. End: {"problems": [text...]}. */
CLR_API clr_rows* clr_query_threads(clr_runtime* runtime, clr_error* error);

#define CLR_FRAMES_RUNTIME 1u   /* the runtime's explicit Frames as rows too */
#define CLR_FRAMES_REGISTERS 2u /* registers of every frame */
#define CLR_FRAMES_LINES 4u     /* source lines of managed frames */
/* The frames of the thread with kernel id `os_id`, innermost first, at most `limit` (0: as many as there
 * are): the "frames" of `clrbt --json`. End: {"end": text, "notes": [text...]}. The whole walk happens when
 * the first row is requested. */
CLR_API clr_rows* clr_query_frames(clr_runtime* runtime, uint64_t os_id, size_t limit, uint32_t flags,
                                   clr_error* error);
/* The exception at `object` and all its inner ones, each before those within it: the "exceptions" of
 * `clr pe --json`. */
CLR_API clr_rows* clr_query_exception(clr_runtime* runtime, uint64_t object, clr_error* error);
/* One row: `clr object --json` of the object at `object`, with at most `items` of its elements, 1,000,000
 * at most. `path` leads from there to a field or element, as in `clr object`; null or "" for the object
 * itself. */
CLR_API clr_rows* clr_query_object(clr_runtime* runtime, uint64_t object, const char* path, size_t items,
                                   clr_error* error);
/* The static fields whose names, or those of whose types, match `pattern` (* and ?): elements of
 * `clr static --json`. Those of one thread's own by the thread with kernel id `os_id`; 0: of all threads.
 * End: {"problems": [text...]}. */
CLR_API clr_rows* clr_query_statics(clr_runtime* runtime, const char* pattern, uint64_t os_id,
                                    clr_error* error);
/* One row: `clr unwind --json` of an address. */
CLR_API clr_rows* clr_query_unwind(clr_runtime* runtime, uint64_t address, clr_error* error);
/* One row: `clr gcinfo --json` of an address in managed code. */
CLR_API clr_rows* clr_query_gc_info(clr_runtime* runtime, uint64_t address, clr_error* error);
/* The references that the frames of the thread with kernel id `os_id` hold, innermost frame first: elements
 * of `clr roots stack --json`. End: {"end": text, "notes": [text...]}. The whole walk happens when the first
 * row is requested. */
CLR_API clr_rows* clr_query_roots(clr_runtime* runtime, uint64_t os_id, clr_error* error);
/* One row: `clr heap --json`. */
CLR_API clr_rows* clr_query_heap(clr_runtime* runtime, clr_error* error);

#define CLR_HEAP_ALL (-1)
#define CLR_HEAP_LOH 3    /* large objects */
#define CLR_HEAP_POH 4    /* pinned objects */
#define CLR_HEAP_FROZEN 5 /* objects that are never collected */
/* The types of the heap's objects whose names match `pattern` (* and ?; NULL: all), by descending bytes: the
 * "types" of `clr heap --stat --json`. `part`: a generation (0, 1, 2), or one of the numbers above. End: the
 * rest of that document. All objects are counted when the first row is requested. */
CLR_API clr_rows* clr_query_heap_types(clr_runtime* runtime, const char* pattern, int part, clr_error* error);
/* The objects of these types, by ascending address: elements of `clr objects --json`. End: {"problems":
 * [text...]}. The heap is walked while rows are requested. */
CLR_API clr_rows* clr_query_objects(clr_runtime* runtime, const char* pattern, int part, clr_error* error);
/* The same of objects that fit all `count` conditions, each as `clr objects --where` takes it ("Id=4711").
 * End: also how many could not be compared, and why. */
CLR_API clr_rows* clr_query_objects_where(clr_runtime* runtime, const char* pattern, int part,
                                          const char* const* conditions, size_t count, clr_error* error);
/* clr_query_heap_types of the objects that a root reaches; with `live` 0 of the others. All references of the
 * heap are read when the first row is requested. */
CLR_API clr_rows* clr_query_reached_types(clr_runtime* runtime, const char* pattern, int part, int live,
                                          clr_error* error);
/* The strings of `least_bytes` and more whose texts match `match` (* and ?; NULL: all): elements of `clr
 * strings --json`. Of a text of more than 256 UTF-16 code units the first 256 are compared. End: {"problems":
 * [text...]}. The heap is walked while rows are requested. */
CLR_API clr_rows* clr_query_strings(clr_runtime* runtime, const char* match, uint64_t least_bytes,
                                    clr_error* error);
/* The texts that several of these strings have, at most `most` (0: all), those first that take most bytes:
 * elements of `clr strings --duplicates --json`. End: {"strings", "texts", "problems"}, the counts of all. */
CLR_API clr_rows* clr_query_duplicate_strings(clr_runtime* runtime, const char* match, uint64_t least_bytes,
                                              size_t most, clr_error* error);
/* The arrays of `least_bytes` and more whose types match `pattern`, at most `most` (0: all): "rows" of `clr
 * arrays --json`, the largest first, or with `sparse` those first that have most bytes in empty elements.
 * End:
 * {"arrays", "bytes", "empty_bytes", "problems"}. */
CLR_API clr_rows* clr_query_arrays(clr_runtime* runtime, const char* pattern, int part, int sparse,
                                   uint64_t least_bytes, size_t most, clr_error* error);
/* One row: `clr heap --free --json`. */
CLR_API clr_rows* clr_query_free_space(clr_runtime* runtime, clr_error* error);
/* Memory that threads were given for their next objects: elements of `clr alloc --json`. End: {"problems":
 * [text...]}. */
CLR_API clr_rows* clr_query_allocations(clr_runtime* runtime, clr_error* error);
/* All handles: elements of `clr handles --json`. End as above. */
CLR_API clr_rows* clr_query_handles(clr_runtime* runtime, clr_error* error);
/* One row: `clr finalizers --json`. End as above. */
CLR_API clr_rows* clr_query_finalizers(clr_runtime* runtime, clr_error* error);
/* One row: `clr heap --verify --json`. End as above. */
CLR_API clr_rows* clr_query_verification(clr_runtime* runtime, clr_error* error);
/* The references that the object at `object` has, and those that others have to it: elements of "out" and
 * "in" of `clr refs --json`. For the second, all references of the heap are read when the first row is
 * requested, and kept; so they are for all that follow here. */
CLR_API clr_rows* clr_query_references(clr_runtime* runtime, uint64_t object, clr_error* error);
CLR_API clr_rows* clr_query_referrers(clr_runtime* runtime, uint64_t object, clr_error* error);
/* All places outside of the heap that keep objects alive: the "root" of `clr root --json`, with the "type" of
 * the object. End: {"problems": [text...]}. */
CLR_API clr_rows* clr_query_heap_roots(clr_runtime* runtime, clr_error* error);
/* At most `most` ways from different roots to an object, the shortest first: the "paths" of `clr root
 * --json`; none for an object that nobody holds. End as above. */
CLR_API clr_rows* clr_query_paths(clr_runtime* runtime, uint64_t object, size_t most, clr_error* error);
/* One row: `clr retained --json` of an object. */
CLR_API clr_rows* clr_query_retained(clr_runtime* runtime, uint64_t object, clr_error* error);
#define CLR_RETAINED_BY_OBJECT 0
#define CLR_RETAINED_BY_TYPE 1
#define CLR_RETAINED_BY_ASSEMBLY 2
#define CLR_RETAINED_BY_STATIC 3
#define CLR_RETAINED_BY_ROOT 4 /* static fields, handles, and threads with all that they hold */
/* At most `most` of these, those first that retain most: rows of `clr retained --json`. `pattern` (* and ?;
 * null: all) is compared with the names of types, of assemblies, of static fields, or of roots. End as
 * above. */
CLR_API clr_rows* clr_query_retainers(clr_runtime* runtime, int by, const char* pattern, size_t most,
                                      clr_error* error);
/* Writes a .gcdump to `path`, with `live` only of objects that a root reaches; a file that is there is
 * replaced. One row: `clr gcdump --json`. End as above. */
CLR_API clr_rows* clr_query_gcdump(clr_runtime* runtime, const char* path, int live, clr_error* error);
/* Writes the counts by type to `path`; a file that is there is replaced. One row: `clr heap --save --json`.
 * End as above. */
CLR_API clr_rows* clr_query_heap_save(clr_runtime* runtime, const char* path, clr_error* error);
/* What grew since `other`, a core or a file of clr_query_heap_save: the "types" of `clr heap --diff --json`,
 * the largest growth first. End: the rest of that document, and "problems". */
CLR_API clr_rows* clr_query_heap_difference(clr_runtime* runtime, const char* other, clr_error* error);
/* One row: `clr analyze --json`. The thread's frames and exception are had by their own queries. The stacks
 * of all threads are walked, and the heap, unless a thread failed. */
CLR_API clr_rows* clr_query_analysis(clr_runtime* runtime, clr_error* error);
/* Async methods that wait, each chain for itself: elements of "stacks" of `clr async --json --each`. End:
 * {"problems": [text...]}. The heap is walked when the first row is requested. */
CLR_API clr_rows* clr_query_async(clr_runtime* runtime, clr_error* error);
/* Locks that are held or waited for: elements of `clr locks --json`. End: {"problems": [text...]}. The heap
 * is walked, and all stacks, when the first row is requested. */
CLR_API clr_rows* clr_query_locks(clr_runtime* runtime, clr_error* error);
/* Threads and tasks that wait for each other: elements of `clr deadlocks --json`. End and cost as above. */
CLR_API clr_rows* clr_query_deadlocks(clr_runtime* runtime, clr_error* error);
/* What each thread waits for: {"os_id", "waits_for" (as in `clr threads --json`; null for a thread that
 * runs)}. The stacks tell it; where they do not, the heap is walked. End as above. */
CLR_API clr_rows* clr_query_waits(clr_runtime* runtime, clr_error* error);
/* The versions of the method at `method_desc` that the runtime keeps, newest first: {"node", "start" (null
 * while it is not compiled), "tier", "active", "il_version"}. The default version has no node and is not
 * in the list. */
CLR_API clr_rows* clr_query_versions(clr_runtime* runtime, uint64_t method_desc, clr_error* error);
#define CLR_SAVE_ALL_METHODS 1u /* also what a list of all jitted methods needs */
#define CLR_SAVE_HEAP 2u        /* also the managed heap */
#define CLR_SAVE_VALUES 4u      /* also the values of arguments and locals */
/* Writes a minimal core to `path`, as `clr savecore` does; `flags` are a sum of CLR_SAVE_*. One row: {"path",
 * "size", "memory", "segments", "missing", "left_out"} in bytes and counts; "left_out" are sentences about
 * what a limit kept out of it. */
CLR_API clr_rows* clr_query_small_core(clr_runtime* runtime, const char* path, uint32_t flags,
                                       clr_error* error);
/* The same with CLR_SAVE_ALL_METHODS, when `all_methods` is not 0, or without flags. */
CLR_API clr_rows* clr_query_save_core(clr_runtime* runtime, const char* path, int all_methods,
                                      clr_error* error);

/* The next rows: 1 and a JSON object {"rows": [row...]} in `*json`, `*size` bytes without a terminator, valid
 * until the next call with these rows; the last batch also has "end": {...}, the end object of the answer.
 * 0 after the last batch; -1 for an error, after which there are no more rows. */
CLR_API int clr_rows_next(clr_rows* rows, const char** json, size_t* size, clr_error* error);
CLR_API void clr_rows_close(clr_rows* rows);

/* All objects of the heap, free memory among them, as columns: row i is the object with the i-th lowest
 * address. The heap is walked by this call. Columns belong to the table, and are valid until it is closed,
 * also when the process has run. Null for an empty heap. */
typedef struct clr_table clr_table;
CLR_API clr_table* clr_heap_table(clr_runtime* runtime, clr_error* error);
CLR_API size_t clr_table_count(const clr_table* table);
CLR_API const uint64_t* clr_table_addresses(const clr_table* table);
CLR_API const uint64_t* clr_table_sizes(const clr_table* table);      /* bytes */
CLR_API const uint32_t* clr_table_types(const clr_table* table);      /* index in "types" of clr_table_json */
CLR_API const uint8_t* clr_table_generations(const clr_table* table); /* 0, 1, 2, CLR_HEAP_LOH, ... */
CLR_API const uint8_t* clr_table_free(const clr_table* table);        /* 1: free memory, else 0 */
/* {"types": [{"name", "module", "method_table"}...], "problems": [text...]} */
CLR_API const char* clr_table_json(const clr_table* table, size_t* size);
CLR_API void clr_table_close(clr_table* table);

/* Bulk lookup. For address i: owner[i] is the index of its owner in the JSON array of
 * clr_symbols_json. An owner is an element of `clrip2md --json` without "address", "source", and without
 * "offset" and "funclet" of "code". offset[i] is the number of bytes from the method's start, UINT64_MAX when
 * there is none. */
#define CLR_SYMBOLS_LINES 1u
#define CLR_NO_FILE UINT32_MAX
typedef struct clr_place {
  uint32_t file; /* index in clr_symbols_files; CLR_NO_FILE: not known */
  uint32_t line, column;
  uint32_t il_offset; /* UINT32_MAX: not known */
} clr_place;
CLR_API clr_symbols* clr_symbolize(clr_runtime* runtime, const uint64_t* addresses, size_t count,
                                   uint32_t flags, clr_error* error);
/* Valid until the symbols are closed. Places are null without CLR_SYMBOLS_LINES; files are a JSON array of
 * text. */
CLR_API const uint32_t* clr_symbols_owners(const clr_symbols* symbols);
CLR_API const uint64_t* clr_symbols_offsets(const clr_symbols* symbols);
CLR_API const clr_place* clr_symbols_places(const clr_symbols* symbols);
CLR_API const char* clr_symbols_json(const clr_symbols* symbols, size_t* size);
CLR_API const char* clr_symbols_files(const clr_symbols* symbols, size_t* size);
CLR_API void clr_symbols_close(clr_symbols* symbols);

#ifdef __cplusplus
}
#endif

#endif
