// SPDX-License-Identifier: Apache-2.0
// Reference counts: Ptr<T> is an intrusive pointer, as c10::intrusive_ptr is, without atomics (a
// session is one thread's). Objects come from a pool of their own size, so that making a tensor
// costs a few nanoseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace memtape::ghost {

/// Memory for small objects, kept in a list of free places per size for the life of the thread.
class Pool {
 public:
  static void* take(std::size_t bytes) {
    if (bytes > kLargest) return ::operator new(bytes);
    Free*& list = lists_[slot(bytes)];
    if (!list) refill(slot(bytes));
    Free* place = list;
    list = place->next;
    return place;
  }
  static void give(void* at, std::size_t bytes) {
    if (bytes > kLargest) return ::operator delete(at);
    auto* place = static_cast<Free*>(at);
    place->next = lists_[slot(bytes)];
    lists_[slot(bytes)] = place;
  }

 private:
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kStep = 32, kLargest = 512;
  static std::size_t slot(std::size_t bytes) { return (bytes - 1) / kStep; }
  static void refill(std::size_t slot);

  inline static constinit thread_local std::array<Free*, kLargest / kStep> lists_{};
};

/// Base of what Ptr counts. `T` is the derived class; a T with virtual functions must have a
/// virtual destructor.
struct RefCounted {
  std::uint32_t refs = 0;
};

template <class T>
class Ptr {
 public:
  Ptr() = default;
  explicit Ptr(T* object) : object_(object) {
    if (object_) ++object_->refs;
  }
  Ptr(const Ptr& other) : Ptr(other.object_) {}
  Ptr(Ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  /// To a base class.
  template <class U>
    requires(!std::is_same_v<U, T> && std::is_convertible_v<U*, T*>)
  Ptr(const Ptr<U>& other)
      : Ptr(static_cast<T*>(other.get())) {}  // NOLINT(google-explicit-constructor)
  Ptr& operator=(Ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ptr() { drop(object_); }

  void reset() { drop(std::exchange(object_, nullptr)); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ptr&) const = default;

 private:
  static void drop(T* object) {
    if (object && --object->refs == 0) destroy(object);
  }
  T* object_ = nullptr;
};

}  // namespace memtape::ghost
