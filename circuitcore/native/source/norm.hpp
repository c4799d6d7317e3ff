// RMS norm and layer norm: y = gain * unit + shift, where unit = (x - mean) / scale; the RMS norm has no mean and no
// shift.
//
// A norm before a linear map leaves gain and shift to that map's weights; one after a part applies them itself.
#pragma once
#include "rows.hpp"

class Norm {
 public:
  Buffer gain, shift, gain_gradient, shift_gradient;

  Norm() = default;
  // Places of gain and shift in the flat parameters; gain -1: no norm at all, shift -1: an RMS norm.
  Norm(long width, long gain_at, long shift_at, float eps)
      : width(width), gain_at(gain_at), shift_at(shift_at), eps(eps) {
    if (!exists()) return;
    gain = shift = gain_gradient = shift_gradient = inside = zeros(padded(width));
    std::fill_n(inside.begin(), width, 1.f);
  }
  bool exists() const { return gain_at >= 0; }

  void pack(const float* parameters) {
    if (!exists()) return;
    std::memcpy(gain.data(), parameters + gain_at, width * sizeof(float));
    if (centred()) std::memcpy(shift.data(), parameters + shift_at, width * sizeof(float));
  }
  void clear_gradient() {
    std::fill(gain_gradient.begin(), gain_gradient.end(), 0.f);
    std::fill(shift_gradient.begin(), shift_gradient.end(), 0.f);
  }
  void unpack_gradient(float* flat) const {
    if (!exists()) return;
    for (long j = 0; j < width; j++) flat[gain_at + j] += gain_gradient[j];
    for (long j = 0; j < width && centred(); j++) flat[shift_at + j] += shift_gradient[j];
  }

  // unit = (x - mean) / scale, and 1 / scale of each row.
  void normalise(long rows, Rows x, Rows unit, float* inverse) const {
    for (long i = 0; i < rows; i++) {
      vec total{}, squares{};
      for (long j = 0; j < width && centred(); j += LANES) total += load(x[i] + j);
      float mean = sum(total) / width;
      for (long j = 0; j < width; j += LANES) {
        vec difference = (load(x[i] + j) - mean) * load(&inside[j]);
        squares += difference * difference;
      }
      inverse[i] = 1.f / std::sqrt(sum(squares) / width + eps);
      for (long j = 0; j < width; j += LANES)
        store(unit[i] + j, (load(x[i] + j) - mean) * load(&inside[j]) * inverse[i]);
    }
  }
  // dx from the gradient of unit, added to dx if `add`; they may be the same rows if not.
  void backward(long rows, Rows d_unit, Rows unit, const float* inverse, Rows dx, bool add) const {
    for (long i = 0; i < rows; i++) {
      vec total{}, along{};
      for (long j = 0; j < width; j += LANES) {
        vec d = load(d_unit[i] + j);
        total += d;
        along += d * load(unit[i] + j);
      }
      float mean = centred() ? sum(total) / width : 0.f, slope = sum(along) / width;
      for (long j = 0; j < width; j += LANES) {
        vec d = (load(d_unit[i] + j) - (mean + slope * load(unit[i] + j)) * load(&inside[j])) * inverse[i];
        store(dx[i] + j, add ? load(dx[i] + j) + d : d);
      }
    }
  }

  // y = gain * unit + shift.
  void scale(long rows, Rows unit, Rows y) const {
    for (long i = 0; i < rows; i++)
      for (long j = 0; j < width; j += LANES)
        store(y[i] + j, load(unit[i] + j) * load(&gain[j]) + load(&shift[j]));
  }
  // The gradient of unit, written over that of y.
  void scale_backward(long rows, Rows unit, Rows dy) {
    for (long j = 0; j < width; j += LANES) {
      vec of_gain = load(&gain_gradient[j]), of_shift = load(&shift_gradient[j]);
      for (long i = 0; i < rows; i++) {
        vec d = load(dy[i] + j);
        of_gain += d * load(unit[i] + j);
        of_shift += d;
        store(dy[i] + j, d * load(&gain[j]));
      }
      store(&gain_gradient[j], of_gain);
      store(&shift_gradient[j], of_shift);
    }
  }

 private:
  long width = 0, gain_at = -1, shift_at = -1;
  float eps = 0;
  Buffer inside;  // 1 on the columns there are, 0 on those that fill the last vector
  bool centred() const { return shift_at >= 0; }
};
