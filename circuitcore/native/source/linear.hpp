// A linear map y = x W + b: packed weights, and the three products of forward and backward pass.
#pragma once
#include "matmul.hpp"
#include "norm.hpp"

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
    plain = zeros(padded(inputs) * columns);
    weights = zeros(inputs * columns);
    transposed = zeros(columns * padded(inputs));
    bias = zeros(columns);
    by_input = inputs > columns ? 1 : columns;
    by_column = inputs > columns ? padded(inputs) : 1;
    gradient = zeros(columns * padded(inputs));
    bias_gradient = zeros(columns);
  }

  // Copy the weights out of the flat parameters into the order in which the products read them. Where the input comes
  // through a norm, it is read before gain and shift, which become part of the weights: x W = unit (gain W) + shift W.
  void pack(const float* parameters, const Norm* before) {
    std::fill(bias.begin(), bias.end(), 0.f);
    for (const Piece& piece : pieces) {
      if (piece.bias >= 0) std::memcpy(&bias[piece.first], parameters + piece.bias, piece.outputs * sizeof(float));
      for (long k = 0; k < inputs; k++) {
        collect(parameters, piece, k);
        // What fills the last vector is multiplied by the gain too: a NaN of an earlier model would stay there.
        std::fill_n(&plain[k * columns + piece.first + piece.outputs], padded(piece.outputs) - piece.outputs, 0.f);
      }
    }
    for (long n = 0; n < columns; n += LANES)
      for (long k = 0; k < inputs; k++) {
        float* w = &plain[k * columns + n];
        if (before) {
          store(&bias[n], load(&bias[n]) + load(w) * before->shift[k]);
          store(w, load(w) * before->gain[k]);
        }
        store(&weights[n * inputs + k * LANES], load(w));
      }
    for (long k = 0; k < inputs; k += LANES)
      for (long n = 0; n < columns; n += LANES) {
        vec block[LANES];
        for (long i = 0; i < LANES; i++) block[i] = load(&plain[(k + i) * columns + n]);
        transpose_block(block);
        for (long i = 0; i < LANES; i++) store(&transposed[k * columns + (n + i) * LANES], block[i]);
      }
  }

  void clear_gradient() {
    std::fill(gradient.begin(), gradient.end(), 0.f);
    std::fill(bias_gradient.begin(), bias_gradient.end(), 0.f);
  }

  // Add the gradient of every weight to its place in the flat gradient, and those of gain and shift to the norm's.
  void unpack_gradient(const float* parameters, float* flat, Norm* before) const {
    for (const Piece& piece : pieces) {
      for (long k = 0; k < inputs; k++) {
        float gain = before ? before->gain[k] : 1.f, shift = before ? before->shift[k] : 0.f;
        float d_gain = 0, d_shift = 0;
        for (long n0 = 0; n0 < piece.outputs; n0 += piece.block) {
          const float *w = parameters + piece.of(k, n0), *d = &gradient[(piece.first + n0) * by_column + k * by_input];
          const float* d_bias = &bias_gradient[piece.first + n0];
          float* to = flat + piece.of(k, n0);
          for (long n = 0; n < piece.block; n++) {
            float d_weight = d[n * by_column];
            to[n * piece.column] += gain * d_weight + shift * d_bias[n];
            d_gain += w[n * piece.column] * d_weight;
            d_shift += w[n * piece.column] * d_bias[n];
          }
        }
        if (before) before->gain_gradient[k] += d_gain, before->shift_gradient[k] += d_shift;
      }
      if (piece.bias >= 0)
        for (long n = 0; n < piece.outputs; n++) flat[piece.bias + n] += bias_gradient[piece.first + n];
    }
  }

  // y [rows x width] = x W + b, for the columns first .. first + width; width 0: all.
  void forward(long rows, Rows x, Rows y, long first = 0, long width = 0) const {
    width = width ? width : columns;
    Right w{&weights[first * inputs], LANES, inputs * LANES};
    matmul(rows, width / LANES, inputs, {x.data, x.stride, 1}, w, {&bias[first], 0}, y.data, y.stride);
  }
  // y += x W + b.
  void forward_add(long rows, Rows x, Rows y) const {
    Right w{weights.data(), LANES, inputs * LANES};
    Start start{y.data, y.stride, has_bias() ? bias.data() : nullptr};
    matmul(rows, columns / LANES, inputs, {x.data, x.stride, 1}, w, start, y.data, y.stride);
  }
  // dx [rows x inputs] = dy W^T (added to dx if `add`), with dy the gradient at the columns from `first`.
  void backward_input(long rows, Rows dy, Rows dx, bool add, long first = 0, long width = 0) const {
    width = width ? width : columns;
    Right w{&transposed[first * LANES], LANES, columns * LANES};
    Start start = add ? Start{dx.data, dx.stride} : Start{};
    matmul(rows, padded(inputs) / LANES, width, {dy.data, dy.stride, 1}, w, start, dx.data, dx.stride);
  }
  // Add x^T dy to the weights' gradient and the sum of dy over its rows to the bias's.
  void backward_weights(long rows, Rows x, Rows dy, long first = 0, long width = 0) {
    width = width ? width : columns;
    float* to = &gradient[first * by_column];
    if (by_column == 1) {
      Right right{dy.data, dy.stride, LANES};
      matmul(inputs, width / LANES, rows, {x.data, 1, x.stride}, right, {to, by_input}, to, by_input);
    } else {
      Right right{x.data, x.stride, LANES};
      matmul(width, by_column / LANES, rows, {dy.data, 1, dy.stride}, right, {to, by_column}, to, by_column);
    }
    add_up<4>(rows, dy, &bias_gradient[first], width);
  }

 private:
  std::vector<Piece> pieces;
  Buffer plain;       // [padded input][column], as packing goes through them
  Buffer weights;     // [column vector][input][LANES]
  Buffer transposed;  // [input vector][column][LANES]
  // Element (k, n) of the gradient is at k * by_input + n * by_column. Its rows run along the longer side: wide tiles
  // are faster, and the wider operand, which may have left the cache, is then read in order.
  Buffer gradient;
  long by_input = 0, by_column = 0;
  Buffer bias, bias_gradient;

  // Add the rows of x to one. Several vectors are summed side by side: each addition waits for the one before it.
  template <int SIDE>
  static void add_up(long rows, Rows x, float* to, long width) {
    long j = 0;
    for (; j + SIDE * LANES <= width; j += SIDE * LANES) {
      vec total[SIDE];
      for (int n = 0; n < SIDE; n++) total[n] = load(to + j + n * LANES);
      for (long i = 0; i < rows; i++)
        for (int n = 0; n < SIDE; n++) total[n] += load(x[i] + j + n * LANES);
      for (int n = 0; n < SIDE; n++) store(to + j + n * LANES, total[n]);
    }
    if constexpr (SIDE > 1)
      if (j < width) add_up<1>(rows, x.from_column(j), to + j, width - j);
  }
  // Row k of a piece, into its columns of `plain`.
  void collect(const float* parameters, const Piece& piece, long k) {
    for (long n = 0; n < piece.outputs; n += piece.block) {
      const float* from = parameters + piece.of(k, n);
      float* to = &plain[k * columns + piece.first + n];
      if (piece.column == 1)
        std::memcpy(to, from, piece.block * sizeof(float));
      else
        for (long i = 0; i < piece.block; i++) to[i] = from[i * piece.column];
    }
  }
  bool has_bias() const { return !pieces.empty() && pieces[0].bias >= 0; }
};
