// What Python calls.
#include <xmmintrin.h>

#include <ctime>

#include "edits.hpp"
#include "record.hpp"
#include "train.hpp"

// While it lives, this thread takes numbers below 1.2e-38 for 0. A network that has learnt its task has gradients full
// of them, and many processors need a hundred cycles for a product with one: its training would slow down tenfold.
class NoDenormals {
 public:
  NoDenormals() { _mm_setcsr(before | FLUSH_RESULTS | READ_AS_ZERO); }
  ~NoDenormals() { _mm_setcsr(before); }
  NoDenormals(const NoDenormals&) = delete;

 private:
  static constexpr unsigned FLUSH_RESULTS = 1u << 15, READ_AS_ZERO = 1u << 6;
  unsigned before = _mm_getcsr();
};

#pragma GCC visibility push(default)
extern "C" {

Decoder* decoder_new(const Config* config, const Places* places, const LayerPlaces* layers) {
  return new Decoder(*config, *places, layers);
}
void decoder_free(Decoder* decoder) { delete decoder; }

// Whether every id that will be used to look something up lies in the vocabulary.
int batch_fits(const Decoder* decoder, const Batch* batch) { return ids_fit(decoder->c, *batch); }

double decoder_gradient(Decoder* decoder, const float* parameters, const Batch* batch, float* gradient, int64_t count) {
  NoDenormals here;
  return batch_gradient(*decoder, parameters, *batch, gradient, count);
}

// One update; returns the loss before it. `moments` [moment count]; grad_norm gets the norm of the unclipped gradient.
double decoder_step(Decoder* decoder, float* parameters, float* moments, float* gradient, int64_t count,
                    const Batch* batch, const Rule* rule, int64_t step, double* grad_norm) {
  NoDenormals here;
  double loss = batch_gradient(*decoder, parameters, *batch, gradient, count);
  *grad_norm = norm_of(count, gradient);
  double scale = rule->clip_norm > 0 ? rule->clip_norm / (*grad_norm + 1e-6) : 1;
  update(*rule, step, count, parameters, moments, gradient, float(scale < 1 ? scale : 1));
  return loss;
}

void decoder_answers(Decoder* decoder, const float* parameters, const Question* question) {
  NoDenormals here;
  answers(*decoder, parameters, *question);
}

void decoder_record(Decoder* decoder, const float* parameters, const Recording* recording) {
  NoDenormals here;
  record(*decoder, parameters, *recording);
}

// Multiply-adds on registers for about `seconds` of processor time: what one core can do, in GFLOP per second.
double peak_gflops(double seconds) {
  auto seconds_used = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
  };
  constexpr int CHAINS = REGISTERS == 32 ? 24 : 12;
  vec x[CHAINS];
  for (int i = 0; i < CHAINS; i++) x[i] = splat(1e-3f * i);
  volatile float factor_now = 0.999999f, term_now = 1e-9f;  // not known when compiled
  vec factor = splat(factor_now), term = splat(term_now), total{};
  double rounds = 0, took = 0;
  for (double start = seconds_used(); took < seconds; took = seconds_used() - start) {
    for (int n = 0; n < 100000; n++)
#pragma GCC unroll 24
      for (int i = 0; i < CHAINS; i++) x[i] = x[i] * factor + term;
    rounds += 100000;
  }
  for (vec v : x) total += v;
  volatile float keep = sum(total);
  (void)keep;
  return rounds * CHAINS * LANES * 2 / took / 1e9;
}
}
#pragma GCC visibility pop
