// One matrix product for everything: C = start + A B, with the columns of B and C in whole vectors.
//
// A tile of C stays in registers while the sum over the depth runs; a wider tile has fewer rows.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "simd.hpp"

// Element (i, k) is data[i * row + k * step]: a matrix, or with row = 1 its transpose.
struct Left {
  const float* data;
  long row, step;
};
// Vector j of row k is data[k * step + j * column]: rows of floats (column = LANES), or packed weights.
struct Right {
  const float* data;
  long step, column;
};
// Where the sums begin: the zero matrix (null), one row for all (row = 0), or C itself; then, if any, plus a bias.
struct Start {
  const float* data = nullptr;
  long row = 0;
  const float* bias = nullptr;
};

template <int ROWS, int COLS>
void tile(long depth, Left a, Right b, Start start, float* c, long c_row) {
  vec total[ROWS][COLS];
#pragma GCC unroll 24
  for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
    for (int j = 0; j < COLS; j++) total[i][j] = start.data ? load(start.data + i * start.row + j * LANES) : vec{};
  if (start.bias) {
#pragma GCC unroll 24
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
      for (int j = 0; j < COLS; j++) total[i][j] += load(start.bias + j * LANES);
  }
  for (long k = 0; k < depth; k++) {
    vec right[COLS];
#pragma GCC unroll 4
    for (int j = 0; j < COLS; j++) right[j] = load(b.data + k * b.step + j * b.column);
#pragma GCC unroll 24
    for (int i = 0; i < ROWS; i++) {
      vec left = splat(a.data[i * a.row + k * a.step]);
#pragma GCC unroll 4
      for (int j = 0; j < COLS; j++) total[i][j] = fused(left, right[j], total[i][j]);
    }
  }
#pragma GCC unroll 24
  for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
    for (int j = 0; j < COLS; j++) store(c + i * c_row + j * LANES, total[i][j]);
}

using Tile = void (*)(long, Left, Right, Start, float*, long);
constexpr int WIDEST = REGISTERS == 32 ? 4 : 2;
// Rows of a tile by its width in vectors: sums and one row of B must fit the registers, with two to spare.
constexpr int TALLEST[] = {0, REGISTERS == 32 ? 24 : 14, REGISTERS == 32 ? 12 : 6, 8, 6};

template <int COLS, int... ROWS>
constexpr std::array<Tile, sizeof...(ROWS)> tiles_of(std::integer_sequence<int, ROWS...>) {
  return {tile<ROWS + 1, COLS>...};
}
// The tile of `rows` x `cols`.
template <int COLS>
inline Tile find_tile(long rows) {
  static constexpr auto tiles = tiles_of<COLS>(std::make_integer_sequence<int, TALLEST[COLS]>{});
  return tiles[rows - 1];
}

template <int COLS>
void panel(long rows, long depth, Left a, Right b, Start start, float* c, long c_row) {
  for (long tiles = ceiling(rows, TALLEST[COLS]), here; tiles > 0; tiles--, rows -= here) {
    here = ceiling(rows, tiles);  // as even as can be: a low tile waits for its own additions
    find_tile<COLS>(here)(depth, a, b, start, c, c_row);
    a.data += here * a.row;
    c += here * c_row;
    if (start.data) start.data += here * start.row;
  }
}

constexpr long NEAR = 576;  // vectors of B that every tile of rows reads again, from the nearest cache

// C [rows x vectors * LANES] = start + A [rows x depth] B [depth x vectors * LANES].
inline void matmul(long rows, long vectors, long depth, Left a, Right b, Start start, float* c, long c_row) {
  for (long left = vectors; left > 0;) {
    long here = left < WIDEST ? left : left == WIDEST + 1 ? WIDEST - 1 : WIDEST;
    auto run = here == 1 ? panel<1> : here == 2 ? panel<2> : here == 3 ? panel<3> : panel<4>;
    long parts = ceiling(depth * here, NEAR), most = parts ? ceiling(depth, parts) : 1;
    for (long k = 0; k < depth || k == 0; k += most) {
      Left a_part{a.data + k * a.step, a.row, a.step};
      Right b_part{b.data + k * b.step, b.step, b.column};
      run(rows, std::min(depth - k, most), a_part, b_part, k ? Start{c, c_row} : start, c, c_row);
    }
    b.data += here * b.column;
    c += here * LANES;
    if (start.data) start.data += here * LANES;
    if (start.bias) start.bias += here * LANES;
    left -= here;
  }
}
