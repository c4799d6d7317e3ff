// Attention of one head on one prompt as a map: rows are the positions that read, columns those that are read.
// Defines `circuitHeadMap`.
globalThis.circuitHeadMap = (() => {
  'use strict';
  // Cividis at 0, 1/8, ... 1.
  const STOPS = ['00224e', '123570', '3b496c', '575d6d', '707173', '8a8678', 'a59c74', 'c3b369', 'fee838']
    .map(hex => [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16)));
  const MOST_LABELS = 20, FONT = 11, LETTER = 6.6;

  function colour(share) {
    const at = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1), low = Math.min(Math.floor(at), STOPS.length - 2);
    return `rgb(${STOPS[low].map((from, i) => Math.round(from + (STOPS[low + 1][i] - from) * (at - low)))})`;
  }

  const share = p => (p > 0 && p < 0.0005 ? '<0.001' : p < 1 && p >= 0.9995 ? '>0.999' : p.toFixed(3));

  // tell(text) shows a sentence; cut(query, key) is called when the reader presses an edge.
  class HeadMap {
    constructor(name, { tell, cut }) {
      Object.assign(this, { name, tell, cut, cursor: null, isActive: false });
      this.canvas = document.createElement('canvas');
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute('role', 'application');
      this.canvas.setAttribute('aria-roledescription', 'attention map');
      const active = on => () => { this.isActive = on; this.draw(); };
      this.canvas.onfocus = () => { active(true)(); this.announce(); };
      this.canvas.onblur = this.canvas.onpointerleave = active(false);
      this.canvas.onpointermove = event => this.point(event);
      this.canvas.onclick = event => { this.point(event); if (this.isActive) this.cut(...this.cursor); };
      this.canvas.onkeydown = event => this.key(event);
    }

    // words [n], and what each is in the prompt; pattern [query key] of this head; cuts: "query,key" of cut edges.
    show(words, roles, pattern, cuts) {
      const n = words.length, isOther = n !== this.words?.length;
      Object.assign(this, { words, roles, pattern, cuts });
      if (isOther || !this.cursor) {
        const row = pattern.subarray((n - 1) * n);
        this.cursor = [n - 1, row.indexOf(Math.max(...row))];
      }
      this.canvas.setAttribute('aria-label', `Attention of ${this.name}. ${this.sentence()}`);
      this.draw();
      if (document.activeElement === this.canvas) this.announce();
    }

    sentence() {
      const [query, key] = this.cursor, n = this.words.length, place = at => `${this.words[at]} (${this.roles[at] ? `${this.roles[at]}, ` : ''}position ${at})`;
      const found = this.cuts.has(`${query},${key}`) ? 'cut' : share(this.pattern[query * n + key]);
      return `${this.name}: ${place(query)} reads ${place(key)}: ${found}`;
    }

    announce() { this.tell(this.sentence()); }

    point({ offsetX, offsetY }) {
      const query = Math.floor((offsetY - this.top) / this.cell), key = Math.floor((offsetX - this.left) / this.cell);
      this.isActive = key >= 0 && query < this.words.length && key <= query;
      if (this.isActive) {
        this.cursor = [query, key];
        this.announce();
      }
      this.draw();
    }

    key(event) {
      const [query, key] = this.cursor, last = this.words.length - 1;
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -key], End: [0, last] };
      const step = steps[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Enter' || event.key === ' ') this.cut(query, key);
      else if (step) {
        const to = Math.min(Math.max(query + step[0], 0), last);
        this.cursor = [to, Math.min(Math.max(key + step[1], 0), to)];
        this.isActive = true;
        this.draw();
        this.announce();
      } else return;
      event.preventDefault();
    }

    // Labels need room; a long prompt has none, and is read by pointing.
    layout() {
      const n = this.words.length, width = this.canvas.parentElement?.clientWidth ?? 0;
      this.labelled = n <= MOST_LABELS;
      this.left = this.labelled ? 8 + LETTER * Math.max(...this.words.map(word => word.length)) : 0;
      this.top = 0;
      this.cell = Math.max((Math.min(width, 420) - this.left - 2) / n, 1);
      return [width, this.cell * n + 2 + this.left];
    }

    draw() {
      const [width, height] = this.layout(), scale = globalThis.devicePixelRatio || 1, { canvas, cell, left } = this;
      if (width < 1 || !this.words) return;
      if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
        Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
        canvas.style.height = `${height}px`;
      }
      const pen = canvas.getContext('2d'), ink = getComputedStyle(canvas).color, n = this.words.length;
      pen.setTransform(scale, 0, 0, scale, 0, 0);
      pen.clearRect(0, 0, width, height);
      for (let query = 0; query < n; query++) {
        for (let key = 0; key <= query; key++) {
          pen.fillStyle = colour(this.pattern[query * n + key]);
          pen.fillRect(left + key * cell, query * cell, Math.max(cell - 1, 0.5), Math.max(cell - 1, 0.5));
          if (this.cuts.has(`${query},${key}`)) this.cross(pen, left + key * cell, query * cell);
        }
      }
      pen.strokeStyle = pen.fillStyle = ink;
      if (this.labelled) this.labels(pen, n);
      if (this.isActive) {
        pen.lineWidth = 2;
        pen.strokeRect(left + this.cursor[1] * cell - 0.5, this.cursor[0] * cell + 0.5, cell, cell);
      }
    }

    cross(pen, x, y) {
      const end = this.cell - 1;
      pen.fillStyle = '#fff';
      pen.fillRect(x, y, end, end);
      pen.strokeStyle = '#b00020';
      pen.lineWidth = 1.5;
      pen.beginPath();
      for (const [from, to] of [[0, end], [end, 0]]) {
        pen.moveTo(x, y + from);
        pen.lineTo(x + end, y + to);
      }
      pen.stroke();
    }

    labels(pen, n) {
      pen.font = `${FONT}px system-ui, sans-serif`;
      pen.textBaseline = 'middle';
      this.words.forEach((word, i) => {
        const middle = (i + 0.5) * this.cell;
        pen.textAlign = 'right';
        pen.fillText(word, this.left - 5, middle);
        pen.save();
        pen.translate(this.left + middle - 0.5, n * this.cell + 4);
        pen.rotate(-Math.PI / 2);
        pen.fillText(word, 0, 0);
        pen.restore();
      });
    }
  }

  return { HeadMap, share };
})();
