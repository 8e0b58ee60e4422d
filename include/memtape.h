/* SPDX-License-Identifier: Apache-2.0
 *
 * memtape's C interface: a request as JSON in, an answer as JSON out, byte for byte what the
 * command line prints with --json. No files, no network, no threads, no printing: what a request
 * needs is in it, or handed over beside it. Calls in several threads do not know of each other.
 *
 *   int fits;
 *   char* answer = memtape_answer(
 *       "{\"command\": \"train\", \"model\": \"Qwen/Qwen3-8B\", \"options\": {\"gpu\":
 * \"rtx-4090\"}}", &fits); puts(answer); memtape_free(answer);
 *
 * What a request may say: docs/library.md.
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

/* What exit_code says, as the program's exit code does. */
enum {
  MEMTAPE_FITS = 0, /* or no GPU was named, or nothing was to fit */
  MEMTAPE_DOES_NOT_FIT = 1,
  MEMTAPE_BAD_INPUT = 2, /* the answer is {"error": {"what", "where", "hint"}} */
  MEMTAPE_INTERNAL_ERROR = 3
};

/* A file, or the beginning of one: headers of .safetensors and .gguf files need no more. */
typedef struct memtape_file {
  const char* name;  /* as the request names it; ends with a zero */
  const char* bytes; /* its first `count` bytes */
  size_t count;
  int64_t size; /* bytes of the whole file */
} memtape_file;

/* The answer to `request` (UTF-8 JSON that ends with a zero), to be given to memtape_free; never
 * null but where memory is exhausted. `exit_code` may be null. */
MEMTAPE_EXPORT char* memtape_answer(const char* request, int* exit_code);

/* The same with files. Where a reader needs more than was handed over, the answer is an error with
 * "wanted": [{"name", "bytes"}]: bring the first `bytes` of that file (0: all of it), ask again. */
MEMTAPE_EXPORT char* memtape_answer_with(const char* request, const memtape_file* files,
                                         size_t file_count, int* exit_code);

MEMTAPE_EXPORT void memtape_free(char* answer);

/* Reads a whole number out of an answer: path "ranks.0.peak_device_bytes". 1 if it is there. */
MEMTAPE_EXPORT int memtape_integer(const char* answer, const char* path, int64_t* value);

/* Reads a text out of an answer, to be given to memtape_free: path "error.what"; null if it is not
 * there. */
MEMTAPE_EXPORT char* memtape_text(const char* answer, const char* path);

/* "0.1.0" */
MEMTAPE_EXPORT const char* memtape_version(void);

#ifdef __cplusplus
}
#endif

#endif
