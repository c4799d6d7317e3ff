// RMS norm and layer norm: y = gain * (x - mean) / scale + shift; the RMS norm has no mean and no shift.
#pragma once
#include "linear.hpp"

constexpr float NORM_EPS = 1e-6f;

class Norm {
 public:
  Norm() = default;
  // gain, shift: places in the flat parameters; gain -1: no norm at all, shift -1: an RMS norm.
  Norm(long width, long gain, long shift) : width(width), gain_place(gain), shift_place(shift) {
    if (gain < 0) return;
    gain_values = shift_values = gain_gradient = shift_gradient = inside = zeros(padded(width));
    std::fill(inside.begin(), inside.begin() + width, 1.f);
  }
  bool exists() const { return gain_place >= 0; }

  void pack(const float* parameters) {
    if (!exists()) return;
    std::memcpy(gain_values.data(), parameters + gain_place, width * sizeof(float));
    if (centred()) std::memcpy(shift_values.data(), parameters + shift_place, width * sizeof(float));
  }
  void clear_gradient() {
    std::fill(gain_gradient.begin(), gain_gradient.end(), 0.f);
    std::fill(shift_gradient.begin(), shift_gradient.end(), 0.f);
  }
  void unpack_gradient(float* flat) const {
    if (!exists()) return;
    for (long j = 0; j < width; j++) flat[gain_place + j] += gain_gradient[j];
    if (centred())
      for (long j = 0; j < width; j++) flat[shift_place + j] += shift_gradient[j];
  }

  // unit = (x - mean) / scale, and 1 / scale of each row.
  void normalise(long rows, Rows x, Rows unit, float* inverse) const {
    for (long i = 0; i < rows; i++) {
      vec total{}, squares{};
      for (long j = 0; j < width && centred(); j += LANES) total += load(x[i] + j);
      float mean = sum(total) / width;
      for (long j = 0; j < width; j += LANES) {
        vec centred = (load(x[i] + j) - mean) * load(&inside[j]);
        squares += centred * centred;
        store(unit[i] + j, centred);
      }
      inverse[i] = 1.f / std::sqrt(sum(squares) / width + NORM_EPS);
      for (long j = 0; j < width; j += LANES) store(unit[i] + j, load(unit[i] + j) * inverse[i]);
    }
  }
  // y = gain * unit + shift.
  void scale(long rows, Rows unit, Rows y) const {
    for (long i = 0; i < rows; i++)
      for (long j = 0; j < width; j += LANES)
        store(y[i] + j, load(unit[i] + j) * load(&gain_values[j]) + load(&shift_values[j]));
  }
  // dx from dy, added to dx if `add`; dx and dy may be the same rows if not.
  void backward(long rows, Rows dy, Rows unit, const float* inverse, Rows dx, bool add) {
    for (long i = 0; i < rows; i++) {
      vec total{}, along{};  // sums of g and of g * unit, where g = dy * gain
      for (long j = 0; j < width; j += LANES) {
        vec d = load(dy[i] + j), u = load(unit[i] + j), g = d * load(&gain_values[j]);
        total += g;
        along += g * u;
        store(&gain_gradient[j], load(&gain_gradient[j]) + d * u);
        store(&shift_gradient[j], load(&shift_gradient[j]) + d);
      }
      float mean = centred() ? sum(total) / width : 0.f, slope = sum(along) / width;
      for (long j = 0; j < width; j += LANES) {
        vec u = load(unit[i] + j);
        vec d = (load(dy[i] + j) * load(&gain_values[j]) - (mean + slope * u) * load(&inside[j])) * inverse[i];
        store(dx[i] + j, add ? load(dx[i] + j) + d : d);
      }
    }
  }

 private:
  long width = 0, gain_place = -1, shift_place = -1;
  Buffer gain_values, shift_values, gain_gradient, shift_gradient;
  Buffer inside;  // 1 on the columns there are, 0 on those that fill the last vector
  bool centred() const { return shift_place >= 0; }
};
