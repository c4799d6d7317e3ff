// SHA-256 of a text's UTF-8 bytes, as hexadecimal. The browser's own where it has one; it withholds that from pages that
// came over plain http from another machine. Defines `paperSha256`.
globalThis.paperSha256 ??= (() => {
  'use strict';
  const hex = words => Array.from(words, word => (word >>> 0).toString(16).padStart(8, '0')).join('');

  // The first 32 bits behind the point of a root of the first primes.
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every(prime => n % prime)) primes.push(n);
  const bits = root => primes.map(prime => (root(prime) % 1) * 2 ** 32 | 0);
  const START = bits(Math.sqrt).slice(0, 8), ROUND = Int32Array.from(bits(Math.cbrt));

  function own(bytes) {
    const length = bytes.length, n = (length + 72) >> 6, all = new Uint8Array(64 * n);
    all.set(bytes);
    all[length] = 0x80;
    const view = new DataView(all.buffer), state = Int32Array.from(START), w = new Int32Array(64);
    view.setUint32(64 * n - 8, Math.floor(length / 2 ** 29));
    view.setUint32(64 * n - 4, length << 3);
    for (let block = 0; block < n; block++) {
      for (let i = 0; i < 16; i++) w[i] = view.getInt32(64 * block + 4 * i);
      for (let i = 16; i < 64; i++) {
        const a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + ((a >>> 7 | a << 25) ^ (a >>> 18 | a << 14) ^ a >>> 3)
          + ((b >>> 17 | b << 15) ^ (b >>> 19 | b << 13) ^ b >>> 10);
      }
      let a = state[0], b = state[1], c = state[2], d = state[3];
      let e = state[4], f = state[5], g = state[6], h = state[7];
      for (let i = 0; i < 64; i++) { // one by one: through an array it takes twice as long
        const one = h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + (e & f ^ ~e & g)
          + ROUND[i] + w[i] | 0;
        const two = ((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + (a & b ^ a & c ^ b & c) | 0;
        h = g;
        g = f;
        f = e;
        e = d + one | 0;
        d = c;
        c = b;
        b = a;
        a = one + two | 0;
      }
      state[0] += a;
      state[1] += b;
      state[2] += c;
      state[3] += d;
      state[4] += e;
      state[5] += f;
      state[6] += g;
      state[7] += h;
    }
    return hex(state);
  }

  return async text => {
    const bytes = new TextEncoder().encode(text), subtle = globalThis.crypto?.subtle;
    if (!subtle) return own(bytes);
    const view = new DataView(await subtle.digest('SHA-256', bytes));
    return hex(Array.from({ length: 8 }, (_, i) => view.getUint32(4 * i)));
  };
})();
