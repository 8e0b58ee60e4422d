// SPDX-License-Identifier: Apache-2.0
// The C interface over answer::answer. Rooms do not throw; what still arrives here (memory is
// exhausted, a library's own) becomes an error answer.
#include "memtape.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "answer/answer.h"

namespace {

using memtape::answer::Answered;
using memtape::answer::HandedFile;

Answered answered(const char* request, const memtape_file* files, std::size_t file_count) {
  std::vector<HandedFile> handed;
  for (std::size_t i = 0; i < file_count; ++i)
    handed.push_back({files[i].name, {files[i].bytes, files[i].count}, files[i].size});
  return memtape::answer::answer(request ? request : "", handed);
}

#if defined(__cpp_exceptions)
Answered guarded(const char* request, const memtape_file* files, std::size_t file_count) {
  try {
    return answered(request, files, file_count);
  } catch (const std::exception& thrown) {
    return memtape::answer::answer_of(
        {memtape::ErrorKind::internal, thrown.what(), "internal error", {}});
  }
}
#else
Answered guarded(const char* request, const memtape_file* files, std::size_t file_count) {
  return answered(request, files, file_count);
}
#endif

}  // namespace

char* memtape_answer_with(const char* request, const memtape_file* files, size_t file_count,
                          int* exit_code) {
  const Answered answer = guarded(request, files, file_count);
  if (exit_code) *exit_code = answer.exit_code;
  char* text = static_cast<char*>(std::malloc(answer.text.size() + 1));
  if (text) std::memcpy(text, answer.text.c_str(), answer.text.size() + 1);
  return text;
}

char* memtape_answer(const char* request, int* exit_code) {
  return memtape_answer_with(request, nullptr, 0, exit_code);
}

void memtape_free(char* answer) { std::free(answer); }

const char* memtape_version(void) { return MEMTAPE_VERSION; }
