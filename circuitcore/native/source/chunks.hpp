// The parts of a batch that go through the decoder together.
#pragma once
#include "decoder.hpp"

// Positions of a sequence up to the last one in the mask; 1 where there is none.
inline long kept_of(const uint8_t* mask, long positions) {
  while (positions > 1 && !mask[positions - 1]) positions--;
  return positions;
}

// The chunks of a batch: as many sequences as the decoder takes at once, cut after the last position in their masks
// (what is behind it, such as padding, costs nothing); the positions in the mask are the live ones.
inline std::vector<Chunk> chunks_of(const Decoder& m, long size, long positions, const uint8_t* mask) {
  std::vector<Chunk> chunks;
  long longest = 0, live = 0;
  for (long i = 0; i < size; i++) {
    longest = std::max(longest, kept_of(mask + i * positions, positions));
    live += std::count_if(mask + i * positions, mask + (i + 1) * positions, [](uint8_t scored) { return scored != 0; });
  }
  for (long first = 0; first < size;) {
    long kept = 0, sequences = 0;
    for (; first + sequences < size; sequences++) {
      long longer = std::max(kept, kept_of(mask + (first + sequences) * positions, positions));
      if (sequences && longer * (sequences + 1) > m.at_once) break;
      kept = longer;
    }
    Chunk chunk{first, sequences, kept, {}, {}, {}};
    for (long s = 0; s < sequences; s++) {
      chunk.live_from.push_back(chunk.live.size());
      for (long t = 0; t < kept; t++)
        if (mask[(first + s) * positions + t]) chunk.live.push_back(s * kept + t), chunk.live_at.push_back(t);
    }
    chunk.live_from.push_back(chunk.live.size());
    chunk.whole = live == size * longest;
    chunks.push_back(std::move(chunk));
    first += sequences;
  }
  return chunks;
}
