/* SPDX-License-Identifier: Apache-2.0
 *
 * memtape's C interface: it takes a request as JSON and gives an answer as JSON, byte for byte what
 * the command line prints with --json. It uses no files, no network and no threads, and prints
 * nothing: whatever a request needs is in it or is handed over with it. Calls in several threads do
 * not affect each other.
 *
 *   int fits;
 *   char* answer = memtape_answer(
 *       "{\"command\": \"train\", \"model\": \"Qwen/Qwen3-8B\","
 *       " \"options\": {\"gpu\": \"rtx-4090\"}}", &fits);
 *   puts(answer);
 *   memtape_free(answer);
 *
 * docs/library.md says what a request may contain.
 */
#ifndef MEMTAPE_H
#define MEMTAPE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define MEMTAPE_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define MEMTAPE_EXPORT __attribute__((visibility("default")))
#else
#define MEMTAPE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The values of exit_code, which are those of the program's exit code. */
enum {
  MEMTAPE_FITS = 0, /* or no GPU was named, or the command asks for no fit */
  MEMTAPE_DOES_NOT_FIT = 1,
  MEMTAPE_BAD_INPUT = 2, /* the answer is {"error": {"what", "where", "hint"}} */
  MEMTAPE_INTERNAL_ERROR = 3
};

/* A file, or its beginning, which is enough for the header of a .safetensors or .gguf file. */
typedef struct memtape_file {
  const char* name;  /* the name in the request; it ends with a zero */
  const char* bytes; /* its first `count` bytes */
  size_t count;
  int64_t size; /* the bytes of the whole file */
} memtape_file;

/* Answers `request`, which is UTF-8 JSON that ends with a zero. The caller gives the answer to
 * memtape_free; it is null only if memory is exhausted. `exit_code` may be null. */
MEMTAPE_EXPORT char* memtape_answer(const char* request, int* exit_code);

/* The same with files. If a reader needs more than was handed over, the answer is an error with
 * "wanted": [{"name", "bytes"}]: hand over the first `bytes` bytes of that file (0 means all of it)
 * and ask again. */
MEMTAPE_EXPORT char* memtape_answer_with(const char* request, const memtape_file* files,
                                         size_t file_count, int* exit_code);

MEMTAPE_EXPORT void memtape_free(char* answer);

/* Reads a whole number out of an answer, for example at the path "ranks.0.peak_device_bytes".
 * Returns 1 if it is there. */
MEMTAPE_EXPORT int memtape_integer(const char* answer, const char* path, int64_t* value);

/* Reads a text out of an answer, for example at the path "error.what". The caller gives it to
 * memtape_free; it is null if there is none. */
MEMTAPE_EXPORT char* memtape_text(const char* answer, const char* path);

/* The version of memtape: "0.1.0". */
MEMTAPE_EXPORT const char* memtape_version(void);

#ifdef __cplusplus
}
#endif

#endif
