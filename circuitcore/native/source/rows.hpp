// Memory for activations and weights.
#pragma once
#include <algorithm>
#include <new>
#include <vector>

#include "simd.hpp"

// Memory that begins at a cache line: a vector that straddles two costs two loads.
template <typename T>
struct Aligned {
  using value_type = T;
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), LINE)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, LINE); }
  bool operator==(const Aligned&) const { return true; }
  bool operator!=(const Aligned&) const { return false; }
  static constexpr std::align_val_t LINE{64};
};
// Floats that start as zero. Past the end there is room for a vector that begins at the last one.
using Buffer = std::vector<float, Aligned<float>>;
inline Buffer zeros(long n) { return Buffer(n + LANES, 0.f); }

// Floats between rows: whole vectors, and no multiple of 1 KiB, whose rows would fight for the same cache lines.
inline long stride_of(long columns) {
  long stride = padded(columns);
  return stride % 256 ? stride : stride + LANES;
}

// Rows inside a buffer.
struct Rows {
  float* data;
  long stride;
  float* operator[](long i) const { return data + i * stride; }
  Rows from_column(long column) const { return {data + column, stride}; }
};
