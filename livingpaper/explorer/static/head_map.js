// Attention of one head on one prompt as a map: rows are the positions that read, columns those that are read.
// Defines `circuitHeadMap`.
globalThis.circuitHeadMap = (() => {
  'use strict';
  // Cividis at 0, 1/8, ... 1.
  const STOPS = ['00224e', '123570', '3b496c', '575d6d', '707173', '8a8678', 'a59c74', 'c3b369', 'fee838']
    .map(hex => [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16)));
  const MOST_LABELS = 20, FONT = 11, LETTER = 6.6;
  const { el } = pageParts('explorer');
  const clamp = (value, most) => Math.min(Math.max(value, 0), most);

  function colour(share) {
    const at = clamp(share, 1) * (STOPS.length - 1), low = Math.min(Math.floor(at), STOPS.length - 2);
    return `rgb(${STOPS[low].map((from, i) => Math.round(from + (STOPS[low + 1][i] - from) * (at - low)))})`;
  }

  const share = p => (p > 0 && p < 0.0005 ? '<0.001' : p < 1 && p >= 0.9995 ? '>0.999' : p.toFixed(3));

  function cross(pen, x, y, size) {
    pen.fillStyle = '#fff';
    pen.fillRect(x, y, size, size);
    pen.strokeStyle = '#b00020';
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const [from, to] of [[0, size], [size, 0]]) {
      pen.moveTo(x, y + from);
      pen.lineTo(x + size, y + to);
    }
    pen.stroke();
  }

  // Words beside the rows and below the columns.
  function labels(pen, words, left, cell) {
    pen.font = `${FONT}px system-ui, sans-serif`;
    pen.textBaseline = 'middle';
    pen.textAlign = 'right';
    words.forEach((word, i) => {
      const middle = (i + 0.5) * cell;
      pen.fillText(word, left - 5, middle);
      pen.save();
      pen.translate(left + middle - 0.5, words.length * cell + 4);
      pen.rotate(-Math.PI / 2);
      pen.fillText(word, 0, 0);
      pen.restore();
    });
  }

  // tell(text) shows a sentence; cut(query, key) is called when the reader presses an edge.
  class HeadMap {
    #name;
    #tell;
    #cut;
    #shown; // words, roles, pattern, cuts
    #cursor; // [query, key]
    #isActive = false;
    #left; // where the columns begin
    #cell; // how large a square is
    canvas = el('canvas', '', { tabIndex: 0, role: 'application', ariaRoleDescription: 'attention map' });

    constructor(name, tell, cut) {
      [this.#name, this.#tell, this.#cut] = [name, tell, cut];
      const { canvas } = this, active = is => { this.#isActive = is; this.draw(); };
      canvas.onfocus = () => { active(true); this.#announce(); };
      canvas.onblur = canvas.onpointerleave = () => active(false);
      canvas.onpointermove = event => this.#point(event);
      canvas.onclick = event => { this.#point(event); if (this.#isActive) this.#cut(...this.#cursor); };
      canvas.onkeydown = event => this.#key(event);
    }

    // words [n], and what each is in the prompt; pattern [query key] of this head; cuts: "query,key" of cut edges.
    show(words, roles, pattern, cuts) {
      const n = words.length;
      if (n !== this.#shown?.words.length) {
        const row = pattern.subarray((n - 1) * n);
        this.#cursor = [n - 1, row.indexOf(Math.max(...row))];
      }
      this.#shown = { words, roles, pattern, cuts };
      this.canvas.ariaLabel = `Attention of ${this.#name}. ${this.#sentence()}`;
      this.draw();
      if (document.activeElement === this.canvas) this.#announce();
    }

    #sentence() {
      const [query, key] = this.#cursor, { words, roles, pattern, cuts } = this.#shown;
      const place = at => `${words[at]} (${roles[at] && `${roles[at]}, `}position ${at})`;
      const found = cuts.has(`${query},${key}`) ? 'cut' : share(pattern[query * words.length + key]);
      return `${this.#name}: ${place(query)} reads ${place(key)}: ${found}`;
    }

    #announce() { this.#tell(this.#sentence()); }

    #point({ offsetX, offsetY }) {
      const query = Math.floor(offsetY / this.#cell), key = Math.floor((offsetX - this.#left) / this.#cell);
      this.#isActive = key >= 0 && query < this.#shown.words.length && key <= query;
      if (this.#isActive) {
        this.#cursor = [query, key];
        this.#announce();
      }
      this.draw();
    }

    #key(event) {
      const [query, key] = this.#cursor, last = this.#shown.words.length - 1;
      const step = {
        ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -key], End: [0, last],
      }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Enter' || event.key === ' ') this.#cut(query, key);
      else if (step) {
        const to = clamp(query + step[0], last);
        this.#cursor = [to, clamp(key + step[1], to)];
        this.#isActive = true;
        this.draw();
        this.#announce();
      } else return;
      event.preventDefault();
    }

    draw() {
      if (!this.#shown) return;
      const { canvas } = this, { words, pattern, cuts } = this.#shown, n = words.length;
      const width = canvas.parentElement?.clientWidth ?? 0, scale = globalThis.devicePixelRatio || 1;
      if (!width) return;
      // Labels need room; a long prompt has none, and is read by pointing.
      const isLabelled = n <= MOST_LABELS;
      const left = this.#left = isLabelled ? 8 + LETTER * Math.max(...words.map(word => word.length)) : 0;
      const cell = this.#cell = Math.max((Math.min(width, 420) - left - 2) / n, 1), height = cell * n + 2 + left;
      const [wide, high] = [width, height].map(size => Math.round(size * scale));
      if (canvas.width !== wide || canvas.height !== high) {
        Object.assign(canvas, { width: wide, height: high });
        canvas.style.height = `${height}px`;
      }
      const pen = canvas.getContext('2d'), size = Math.max(cell - 1, 0.5);
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, width, height);
      for (let query = 0; query < n; query++) {
        for (let key = 0; key <= query; key++) {
          const x = left + key * cell, y = query * cell;
          pen.fillStyle = colour(pattern[query * n + key]);
          pen.fillRect(x, y, size, size);
          if (cuts.has(`${query},${key}`)) cross(pen, x, y, cell - 1);
        }
      }
      pen.strokeStyle = pen.fillStyle = getComputedStyle(canvas).color;
      if (isLabelled) labels(pen, words, left, cell);
      if (this.#isActive) {
        const [query, key] = this.#cursor;
        pen.lineWidth = 2;
        pen.strokeRect(left + key * cell - 0.5, query * cell + 0.5, cell, cell);
      }
    }
  }

  return { HeadMap, share };
})();
