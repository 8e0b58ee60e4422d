// SPDX-License-Identifier: Apache-2.0
// What the module exports. One request at a time:
//
//   take(size) -> where to write       for every text and file that goes in
//   file(name, bytes, size)            hands over a file, or its beginning; once each
//   answer(request) -> exit code       and then the answer's text() and text_size()
//
// Everything that was taken is forgotten with the answer, whose text stays until the next.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "answer/answer.h"

#define MEMTAPE_EXPORT(name) \
  extern "C" __attribute__((export_name("memtape_web_" #name), visibility("default")))

namespace {

struct Desk {
  std::vector<std::unique_ptr<char[]>> taken;
  std::vector<memtape::answer::HandedFile> files;
  std::string text;
};

Desk& desk() {
  static Desk only;
  return only;
}

}  // namespace

// The only thread never ends, and zig's C++ library for one thread has no way to end it: what a
// thread_local would do then is never done.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

MEMTAPE_EXPORT(take) char* take(std::size_t size) {
  return desk().taken.emplace_back(new char[size > 0 ? size : 1]).get();
}

MEMTAPE_EXPORT(file)
void file(const char* name, std::size_t name_size, const char* bytes, std::size_t bytes_size,
          double size) {
  desk().files.push_back({std::string_view(name, name_size), std::string_view(bytes, bytes_size),
                          static_cast<memtape::Bytes>(size)});
}

MEMTAPE_EXPORT(answer) int answer(const char* request, std::size_t size) {
  memtape::answer::Answered answered =
      memtape::answer::answer(std::string_view(request, size), desk().files);
  desk().files.clear();
  desk().taken.clear();
  desk().text = std::move(answered.text);
  return answered.exit_code;
}

MEMTAPE_EXPORT(text) const char* text() { return desk().text.data(); }
MEMTAPE_EXPORT(text_size) std::size_t text_size() { return desk().text.size(); }
