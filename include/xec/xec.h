/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * libxec: the C interface of XEC, an erasure-coded object store on XRootD.
 *
 * REQUESTS. Every operation on a store is a request: the call that makes it returns at once, and never NULL.
 * What comes of it is had in one of two ways:
 *
 *   - xec_request_wait() blocks until the request has ended;
 *   - xec_request_then() names a function that is called once, when it has ended, on a thread of the library
 *     (or on the caller's, if it has ended already). That function must not block, nor close the store.
 *
 * xec_request_code() and the functions after it tell the outcome then. A request is freed with
 * xec_request_free(), also before its end, from any thread, and within its own function: it goes on to its
 * end all the same.
 *
 * MEMORY. Texts that go into a call are copied before it returns. Buffers of xec_read(), xec_read_vector(),
 * xec_append(), xec_edit_read(), xec_edit_write() and xec_edit_append() are lent: they must stay as they are
 * until the request has ended. What the functions xec_request_...() return belongs to the request, and goes with
 * it, but for what is called "take".
 *
 * THREADS. Stores, readers, edits and requests may be used by any number of threads. Of one writer one request is
 * made after the other has ended. Readers, writers and edits may be freed while their requests go on.
 * xec_request_free() of a request whose function runs in another thread waits until that has returned.
 *
 * STABILITY. Functions and constants of this header keep their names, values and meanings; later versions add
 * to them. Structures whose first member is `size` are filled in by the caller, which sets it to the sizeof of
 * the structure; members that a library of an earlier version does not know are ignored if they are zero, and
 * else XEC_INVALID_ARGUMENT. Structures that the library returns grow at their ends.
 */
#ifndef XEC_XEC_H
#define XEC_XEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XEC_API_VERSION 1

/* Outcomes. Those of a change that say "open" may have been done, or may yet be. */
typedef enum xec_code {
  XEC_OK = 0,
  XEC_NOT_FOUND = 1,          /* proved: the name does not exist */
  XEC_ALREADY_EXISTS = 2,
  XEC_INVALID_ARGUMENT = 3,   /* the caller's words are wrong */
  XEC_PERMISSION_DENIED = 4,
  XEC_IS_DIRECTORY = 5,
  XEC_NOT_DIRECTORY = 6,
  XEC_NOT_EMPTY = 7,
  XEC_UNAVAILABLE = 8,        /* servers cannot be reached; retry */
  XEC_DEADLINE_EXCEEDED = 9,  /* open: not answered in the time of xec_call */
  XEC_CANCELLED = 10,         /* open: xec_request_cancel() */
  XEC_CONFLICT = 11,          /* another writer was in the way; retry */
  XEC_UNKNOWN = 12,           /* open: the outcome cannot be known now; retry */
  XEC_CORRUPTION = 13,
  XEC_UNREADABLE = 14,
  XEC_DATA_LOSS = 15,         /* too few good chunks are left */
  XEC_CANNOT_TELL = 16,       /* too few servers answer; retry */
  XEC_NO_SPACE = 17,
  XEC_UNSUPPORTED = 18,
  XEC_INTERNAL = 19,
  XEC_NOT_CURRENT = 20,       /* another version lives there than the one that was asked for */
  XEC_OVER_QUOTA = 21         /* the group of the name would use more than its quota */
} xec_code;

/* A stable lower-case word, "not_found". Never NULL. */
const char *xec_code_name(int code);

typedef struct xec_config xec_config;
typedef struct xec_store xec_store;
typedef struct xec_reader xec_reader;
typedef struct xec_writer xec_writer;
typedef struct xec_edit xec_edit;
typedef struct xec_request xec_request;

/* ---- Opening a store --------------------------------------------------------------------------------- */

/* An empty configuration. One thread. */
xec_config *xec_config_new(void);
void xec_config_free(xec_config *config);
/* The `xec.` lines of a file, or of a text (docs/configuration.md), in place of what was set before. Returns a
 * code; xec_config_error() tells what is wrong, in a sentence. */
int xec_config_read_file(xec_config *config, const char *path);
int xec_config_read_text(xec_config *config, const char *text);
/* One option by its name, as "data", "server" or "geometry"; those that repeat are set several times. */
int xec_config_set(xec_config *config, const char *name, const char *value);
const char *xec_config_error(const xec_config *config);

/* Opens the store that the configuration describes. Blocks until it is open, `timeout_ms` at most (0: 10 s).
 * Starts threads, so not before a fork. `create`: a new store is made where all data servers are empty. On
 * success *store is set; else a sentence is written into `error` (of `error_size` bytes, may be NULL). */
int xec_store_open(const xec_config *config, int create, int64_t timeout_ms, xec_store **store, char *error,
                   size_t error_size);
/* Waits for all requests to end, then frees it. Readers, writers and edits have to be freed before. NULL:
 * nothing. */
void xec_store_close(xec_store *store);

/* ---- Requests ---------------------------------------------------------------------------------------- */

/* What a call carries besides its own words. NULL wherever it may be given: no limit, nobody in particular. */
typedef struct xec_call {
  size_t size;
  int64_t timeout_ms;       /* > 0: XEC_DEADLINE_EXCEEDED after that */
  const char *subject;      /* of the client: may be NULL, as the next three */
  const char *host;         /* from which machine */
  const char *door;         /* by which front end */
  const char *const *groups; /* ends with NULL */
} xec_call;

/* Calls `done` once, when the request has ended. At most one such function for a request. */
void xec_request_then(xec_request *request, void (*done)(xec_request *request, void *user), void *user);
/* Blocks until the request has ended, and returns its code. Not within a function of xec_request_then(). */
int xec_request_wait(xec_request *request);
/* The request is to end soon, as XEC_CANCELLED if it has not ended yet. Reads and appends end when the library
 * needs the memory no more. */
void xec_request_cancel(xec_request *request);
void xec_request_free(xec_request *request);

/* Once it has ended: */
int xec_request_code(const xec_request *request);
/* A sentence that says what is wrong, where, and what to do; "" of XEC_OK. */
const char *xec_request_message(const xec_request *request);
/* Of xec_read() and xec_edit_read(): the bytes read. Of xec_copy(), xec_commit(), xec_edit_sync() and
 * xec_edit_close(): the size of the object. */
uint64_t xec_request_bytes(const xec_request *request);

#define XEC_VERSION_SIZE 32
#define XEC_NO_MODE UINT32_MAX

typedef struct xec_info {
  int directory;
  uint64_t size;
  int64_t mtime_ms;                /* since 1970 */
  uint32_t mode;                   /* as a client has set it, or XEC_NO_MODE */
  char version[XEC_VERSION_SIZE];  /* of this content, as text; ends with 0 */
} xec_info;

typedef struct xec_pair {
  const char *name;
  const char *value;   /* any bytes, and a 0 after them */
  size_t value_size;   /* without that 0 */
} xec_pair;

typedef struct xec_description {
  xec_info info;
  const xec_pair *checksums;  /* algorithm and lower-case hex */
  size_t checksums_count;
  const xec_pair *attributes; /* of users */
  size_t attributes_count;
  uint32_t data_chunks, parity_chunks;
  uint64_t chunk_bytes;
} xec_description;

typedef struct xec_name {
  const char *name;    /* last component */
  int directory;
  uint64_t size;
  int64_t mtime_ms;
} xec_name;

typedef struct xec_page {
  const xec_name *names;  /* in the order of bytes */
  size_t count;
  int more;               /* there may be others above the last of these */
} xec_page;

typedef struct xec_space {
  uint64_t total_bytes, free_bytes;  /* of payload, by the geometry of the store */
} xec_space;

/* NULL unless the request is of that kind and has ended with XEC_OK. Of xec_commit(), xec_copy(),
 * xec_edit_sync() and xec_edit_close() the description has version, size and checksums; NULL where an edit had
 * nothing to commit. */
const xec_info *xec_request_info(const xec_request *request);
const xec_description *xec_request_description(const xec_request *request);
const xec_page *xec_request_page(const xec_request *request);
const xec_space *xec_request_space(const xec_request *request);
/* Takes what xec_open(), xec_create() and xec_edit_open() have opened; NULL the second time. */
xec_reader *xec_request_take_reader(xec_request *request);
xec_writer *xec_request_take_writer(xec_request *request);
xec_edit *xec_request_take_edit(xec_request *request);

/* ---- Names ------------------------------------------------------------------------------------------- */

/* Conditions under which something is changed, or opened. All zero: whatever is there. */
typedef struct xec_only_if {
  size_t size;
  int absent;           /* nothing lives there, else XEC_ALREADY_EXISTS */
  const char *version;  /* this version lives there, else XEC_NOT_CURRENT; NULL: any */
} xec_only_if;

xec_request *xec_stat(xec_store *store, const char *path, const xec_call *call);
/* All that is known of one version. */
xec_request *xec_describe(xec_store *store, const char *path, const xec_call *call);
/* A page of a directory: names above `after` (NULL: from the beginning) that begin with `prefix` (NULL: all),
 * at most `limit` (0: 1000). */
xec_request *xec_list(xec_store *store, const char *directory, const char *after, const char *prefix,
                      size_t limit, const xec_call *call);
/* An object. */
xec_request *xec_remove(xec_store *store, const char *path, const xec_only_if *only_if, const xec_call *call);
/* `parents`: what is missing above it is made too. */
xec_request *xec_make_directory(xec_store *store, const char *path, int parents, const xec_call *call);
xec_request *xec_remove_directory(xec_store *store, const char *path, const xec_call *call);
/* An object or a directory; conditions on the target are of objects only. */
xec_request *xec_rename(xec_store *store, const char *from, const char *to, const xec_only_if *source,
                        const xec_only_if *target, const xec_call *call);
/* Within the store; attributes go along. */
xec_request *xec_copy(xec_store *store, const char *from, const char *to, const xec_only_if *source,
                      const xec_only_if *target, const xec_call *call);
/* value NULL: removes it. */
xec_request *xec_set_attribute(xec_store *store, const char *path, const char *name, const char *value,
                               size_t value_size, const xec_only_if *only_if, const xec_call *call);
xec_request *xec_set_mode(xec_store *store, const char *path, uint32_t mode, const xec_call *call);
/* Keeps a checksum (lower-case hex) that the caller has computed of one version; xec_describe() tells it from
 * then on. XEC_NOT_CURRENT if another version lives there. */
xec_request *xec_keep_checksum(xec_store *store, const char *path, const char *version, const char *algorithm,
                               const char *hex, const xec_call *call);
xec_request *xec_get_space(xec_store *store, const xec_call *call);

/* ---- Reading ----------------------------------------------------------------------------------------- */

/* Opens the version that lives there; it stays readable while the name is replaced or removed. */
xec_request *xec_open(xec_store *store, const char *path, const xec_only_if *only_if, const xec_call *call);
void xec_reader_free(xec_reader *reader);
uint64_t xec_reader_size(const xec_reader *reader);
/* Ends with 0; at most XEC_VERSION_SIZE bytes with it. */
const char *xec_reader_version(const xec_reader *reader);

/* Reads up to `size` bytes; fewer only at the end of the object. Every byte is verified. */
xec_request *xec_read(xec_reader *reader, uint64_t offset, void *buffer, size_t size, const xec_call *call);
typedef struct xec_piece {
  uint64_t offset;
  void *buffer;
  size_t size;
} xec_piece;
/* Reads all pieces, which lie within the object, with few requests to servers. */
xec_request *xec_read_vector(xec_reader *reader, const xec_piece *pieces, size_t count, const xec_call *call);

/* ---- Writing ----------------------------------------------------------------------------------------- */

typedef struct xec_write_options {
  size_t size;
  const xec_only_if *only_if; /* may be NULL */
  int64_t object_size;        /* > 0: announced; another one at the end is an error */
  const xec_pair *attributes; /* may be NULL */
  size_t attributes_count;
  int parent_must_exist;      /* else missing directories are made */
} xec_write_options;

/* Begins an object; nothing is visible before xec_commit(). `options`: may be NULL. */
xec_request *xec_create(xec_store *store, const char *path, const xec_write_options *options,
                        const xec_call *call);
/* After an error the writer can only be freed. */
xec_request *xec_append(xec_writer *writer, const void *bytes, size_t size, const xec_call *call);
/* The object is there, as a whole, once this has ended with XEC_OK. */
xec_request *xec_commit(xec_writer *writer, const xec_call *call);
/* Without xec_commit() the upload is given up. */
void xec_writer_free(xec_writer *writer);

/* ---- Changing ---------------------------------------------------------------------------------------- */

typedef struct xec_edit_options {
  size_t size;
  int truncate;               /* it begins empty, and replaces what lives there */
  int create;                 /* a name that is missing is an empty object, made by the first commit */
  int exclusive;              /* nothing lives there, else XEC_ALREADY_EXISTS: now, and at the first commit */
  int last_writer_wins;       /* what others commit meanwhile is replaced; else their version stays */
  const xec_pair *attributes; /* of an object that is made or replaced; may be NULL */
  size_t attributes_count;
  int parent_must_exist;      /* else missing directories are made */
} xec_edit_options;

/* Opens an object to be changed anywhere. Nobody else sees what is changed before xec_edit_sync() or
 * xec_edit_close() has committed it, as a whole new version; until then it lies in the scratch directory of the
 * configuration, or in an upload. A crash of the program forgets it. `options`: may be NULL. `call`: its limits
 * are those of the opening alone, and who asks is who changes the object. XEC_NOT_FOUND, unless `create`,
 * `truncate` or `exclusive`. */
xec_request *xec_edit_open(xec_store *store, const char *path, const xec_edit_options *options,
                           const xec_call *call);
/* Of the object with its changes, in bytes. At any time. */
uint64_t xec_edit_size(const xec_edit *edit);
/* Is there anything to commit? At any time. */
int xec_edit_changed(const xec_edit *edit);

/* The requests of an edit are done in the order of the calls, reads beside each other. Each goes on to its end:
 * xec_request_cancel() does nothing to them. */

/* What was written is read back. Fewer bytes than `size` only at the end. XEC_NOT_CURRENT or XEC_NOT_FOUND: what the
 * edit has committed last was replaced or removed before it was read. */
xec_request *xec_edit_read(xec_edit *edit, uint64_t offset, void *buffer, size_t size);
/* Anywhere: what lies between the end and `offset` is zeros. XEC_NO_SPACE: scratch is full and nothing was
 * written; a commit makes room. */
xec_request *xec_edit_write(xec_edit *edit, uint64_t offset, const void *bytes, size_t size);
/* At the end, wherever that is after the requests before. */
xec_request *xec_edit_append(xec_edit *edit, const void *bytes, size_t size);
/* What is added is zeros. */
xec_request *xec_edit_truncate(xec_edit *edit, uint64_t size);
/* Commits what was changed, and the edit goes on from there. Where the name does not stand as it stood when the
 * edit was opened or committed last: XEC_NOT_CURRENT or XEC_ALREADY_EXISTS, unless `last_writer_wins`. Nothing is
 * overwritten then, and the changes may still be read, to be saved under another name. XEC_CONFLICT: another
 * upload of the name is under way; retry. */
xec_request *xec_edit_sync(xec_edit *edit);
/* The same for the last time. After XEC_OK the edit can only be freed. */
xec_request *xec_edit_close(xec_edit *edit);
/* What is not committed is given up. */
void xec_edit_free(xec_edit *edit);

#ifdef __cplusplus
}
#endif
#endif
