/* SPDX-License-Identifier: Apache-2.0 */
/* Asks libmemtape from C: a training that fits, one that does not, a mistake, a header that is not all there. */
#include <inttypes.h>
#include <memtape.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  ++failures;
}

static void asks_a_training(void) {
  int code = -1;
  char* answer = memtape_answer(
      "{\"command\": \"train\", \"model\": \"Qwen/Qwen3-0.6B\", \"options\": {\"gpu\": \"rtx-4090\"}}", &code);
  int64_t peak = 0;
  check(code == MEMTAPE_FITS, "a small model fits");
  check(memtape_integer(answer, "ranks.0.peak_device_bytes", &peak) && peak > 1 << 30, "it needs more than a GiB");
  printf("%" PRId64 " bytes at its peak\n", peak);
  memtape_free(answer);
  answer = memtape_answer(
      "{\"command\": \"train\", \"model\": \"meta-llama/Llama-3.1-8B\", \"options\": {\"gpu\": \"rtx-4090\"}}", &code);
  check(code == MEMTAPE_DOES_NOT_FIT, "a large one does not");
  memtape_free(answer);
}

static void is_told_of_mistakes(void) {
  int code = -1;
  char* answer = memtape_answer("{\"command\": \"train\", \"model\": \"gpt2\", \"options\": {\"gpux\": 1}}", &code);
  char* what = memtape_text(answer, "error.what");
  check(code == MEMTAPE_BAD_INPUT, "an unknown option is refused");
  check(what && strcmp(what, "unknown option --gpux") == 0, "by name");
  memtape_free(what);
  memtape_free(answer);
  answer = memtape_answer("{\"command\": ", &code);
  check(code == MEMTAPE_BAD_INPUT && strstr(answer, "\"error\""), "half a request is refused");
  memtape_free(answer);
}

static void is_asked_for_more(void) {
  const char eight[8] = {100, 0, 0, 0, 0, 0, 0, 0};
  const memtape_file file = {"m/model.safetensors", eight, sizeof eight, 4096};
  const memtape_file config = {"m/config.json", "{\"model_type\": \"gpt2\"}", 22, 22};
  const memtape_file files[2] = {file, config};
  int64_t bytes = 0;
  int code = -1;
  char* answer = memtape_answer_with("{\"command\": \"train\", \"model\": \"m\"}", files, 2, &code);
  check(code == MEMTAPE_BAD_INPUT, "a header that is cut off is no header");
  check(memtape_integer(answer, "wanted.0.bytes", &bytes) && bytes == 108, "how much of it there is to bring");
  memtape_free(answer);
}

int main(void) {
  check(memtape_version()[0] >= '0', "there is a version");
  asks_a_training();
  is_told_of_mistakes();
  is_asked_for_more();
  return failures ? 1 : 0;
}
