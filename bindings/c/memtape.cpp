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
#include "answer/json_path.h"

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

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

char* memtape_answer_with(const char* request, const memtape_file* files, size_t file_count,
                          int* exit_code) {
  const Answered answer = guarded(request, files, file_count);
  if (exit_code) *exit_code = answer.exit_code;
  return copy_of(answer.text);
}

char* memtape_answer(const char* request, int* exit_code) {
  return memtape_answer_with(request, nullptr, 0, exit_code);
}

void memtape_free(char* answer) { std::free(answer); }

int memtape_integer(const char* answer, const char* path, int64_t* value) {
  if (!answer || !path || !value) return 0;
  const auto found = memtape::answer::integer_at(answer, path);
  if (found) *value = *found;
  return found ? 1 : 0;
}

char* memtape_text(const char* answer, const char* path) {
  if (!answer || !path) return nullptr;
  const auto found = memtape::answer::text_at(answer, path);
  return found ? copy_of(*found) : nullptr;
}

const char* memtape_version(void) { return MEMTAPE_VERSION; }
