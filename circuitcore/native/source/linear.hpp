// A linear map y = x W + b: packed weights, and the three products of forward and backward pass.
#pragma once
#include <new>
#include <vector>

#include "matmul.hpp"

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

// Where one weight matrix lies in the flat parameters: element (k, n) is at
// place + k * row + (n / block) * block_stride + (n % block) * column.
struct Piece {
  long place, bias;  // bias: place of the first of `outputs` biases, or -1
  long outputs, row, block, block_stride, column;
  long first;  // its first column among those of the whole map, a multiple of LANES
  long of(long k, long n) const { return place + k * row + n / block * block_stride + n % block * column; }
};

// One or more weight matrices side by side that read the same input (Q, K and V; gate and up).
class Linear {
 public:
  long inputs = 0, columns = 0;  // columns: every piece filled up to whole vectors

  Linear() = default;
  Linear(long inputs, std::vector<Piece> parts) : inputs(inputs), pieces(std::move(parts)) {
    for (Piece& piece : pieces) {
      piece.first = columns;
      columns += padded(piece.outputs);
    }
    weights = zeros(inputs * columns);
    transposed = zeros(columns * padded(inputs));
    bias = zeros(columns);
    gradient = zeros(inputs * columns);
    bias_gradient = zeros(columns);
  }

  // Copy the weights out of the flat parameters into the order in which the products read them.
  void pack(const float* parameters) {
    for (const Piece& piece : pieces) {
      for (long k = 0; k < inputs; k++)
        for (long n0 = 0; n0 < piece.outputs; n0 += piece.block) {
          const float* from = parameters + piece.of(k, n0);
          for (long n = 0; n < piece.block; n++) {
            long column = piece.first + n0 + n;
            float value = from[n * piece.column];
            weights[(column / LANES * inputs + k) * LANES + column % LANES] = value;
            transposed[(k / LANES * columns + column) * LANES + k % LANES] = value;
          }
        }
      if (piece.bias >= 0) std::memcpy(&bias[piece.first], parameters + piece.bias, piece.outputs * sizeof(float));
    }
  }

  void clear_gradient() {
    std::fill(gradient.begin(), gradient.end(), 0.f);
    std::fill(bias_gradient.begin(), bias_gradient.end(), 0.f);
  }

  // Add the gradient of every weight to its place in the flat gradient.
  void unpack_gradient(float* flat) const {
    for (const Piece& piece : pieces) {
      for (long k = 0; k < inputs; k++)
        for (long n0 = 0; n0 < piece.outputs; n0 += piece.block) {
          float* to = flat + piece.of(k, n0);
          const float* from = &gradient[k * columns + piece.first + n0];
          for (long n = 0; n < piece.block; n++) to[n * piece.column] += from[n];
        }
      if (piece.bias >= 0)
        for (long n = 0; n < piece.outputs; n++) flat[piece.bias + n] += bias_gradient[piece.first + n];
    }
  }

  // y [rows x width] = x W + b, for the columns first .. first + width; width 0: all.
  void forward(long rows, const float* x, long x_stride, Rows y, long first = 0, long width = 0) const {
    width = width ? width : columns;
    Right w{&weights[first * inputs], LANES, inputs * LANES};
    matmul(rows, width / LANES, inputs, {x, x_stride, 1}, w, {&bias[first], 0}, y.data, y.stride);
  }
  // y += x W + b.
  void forward_add(long rows, Rows x, Rows y) const {
    for (long i = 0; i < rows && has_bias(); i++)
      for (long j = 0; j < columns; j += LANES) store(y[i] + j, load(y[i] + j) + load(&bias[j]));
    Right w{weights.data(), LANES, inputs * LANES};
    matmul(rows, columns / LANES, inputs, {x.data, x.stride, 1}, w, {y.data, y.stride}, y.data, y.stride);
  }
  // dx [rows x inputs] = dy W^T (added to dx if `add`), with dy the gradient at the columns from `first`.
  void backward_input(long rows, Rows dy, Rows dx, bool add, long first = 0, long width = 0) const {
    width = width ? width : columns;
    Right w{&transposed[first * LANES], LANES, columns * LANES};
    Start start = add ? Start{dx.data, dx.stride} : Start{};
    matmul(rows, padded(inputs) / LANES, width, {dy.data, dy.stride, 1}, w, start, dx.data, dx.stride);
  }
  // Add x^T dy to the weights' gradient and the sum of dy over its rows to the bias's.
  void backward_weights(long rows, const float* x, long x_stride, Rows dy, long first = 0, long width = 0) {
    width = width ? width : columns;
    float* to = &gradient[first];
    matmul(inputs, width / LANES, rows, {x, 1, x_stride}, {dy.data, dy.stride, LANES}, {to, columns}, to, columns);
    if (!has_bias()) return;
    for (long i = 0; i < rows; i++)
      for (long j = 0; j < width; j += LANES)
        store(&bias_gradient[first + j], load(&bias_gradient[first + j]) + load(dy[i] + j));
  }

 private:
  std::vector<Piece> pieces;
  Buffer weights;     // [column vector][input][LANES]
  Buffer transposed;  // [input vector][column][LANES]
  Buffer bias, gradient, bias_gradient;
  bool has_bias() const { return !pieces.empty() && pieces[0].bias >= 0; }
};
