// The timeline's data and its picture. Times are in nanoseconds since the recording began.

// The kinds of pieces, by their numbers in the data. The names are those of the colours.
const KINDS = ["wait", "futex", "event", "hold"];
const WORDS = ["waited for a lock", "waited in a futex", "waited for an event", "held a lock"];
const LANE = 26;
const AXIS = 26;

class Lane {
  constructor({ name, began, ended, between, pieces }) {
    Object.assign(this, { name, began, ended, between });
    const count = pieces.length / 8;
    this.from = new Float64Array(count);
    this.to = new Float64Array(count);
    // For each piece, the latest end of it and all pieces before it, for a binary search for
    // visible pieces.
    this.reach = new Float64Array(count);
    this.rest = pieces;
    let at = 0;
    let reach = -Infinity;
    for (let i = 0; i < count; i++) {
      at += pieces[8 * i];
      this.from[i] = at;
      this.to[i] = at + pieces[8 * i + 1];
      this.reach[i] = reach = Math.max(reach, this.to[i]);
    }
  }

  get count() { return this.from.length; }
  kind(i) { return this.rest[8 * i + 2]; }
  spans(i) { return this.rest[8 * i + 3]; }
  share(i) { return this.rest[8 * i + 4] / 1000; }

  // The first index at which `values`, which never decrease, are at least `least`.
  static search(values, least) {
    let [low, high] = [0, values.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < least) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The index of the first piece that may be visible, and one past that of the last.
  within(from, to) {
    return [Lane.search(this.reach, from), Lane.search(this.from, to)];
  }
}

class Timeline {
  constructor(canvas, data) {
    this.canvas = canvas;
    this.texts = data.texts;
    this.lanes = data.threads.map((thread) => new Lane(thread));
    this.end = Math.max(data.to, 1);
    // The gaps between the windows for which the logs are complete.
    this.gaps = [...data.windows, [this.end, this.end]].map(([from], i) =>
      [i ? data.windows[i - 1][1] : 0, from]);
    [this.from, this.to] = [0, this.end];
    this.lane = 0;
    this.piece = -1;
  }

  // Describes a piece in a sentence.
  say(lane, i) {
    const text = (place) => this.texts[lane.rest[8 * i + place]];
    const [lock, site, by] = [text(5), text(6), text(7)];
    const spans = lane.spans(i);
    const length = (lane.to[i] - lane.from[i]) / 1e9;
    let what = spans > 1
      ? `${WORDS[lane.kind(i)]} ${count(spans)} times within ${duration(length)}, ${percent(lane.share(i))} of it; the longest`
      : `${WORDS[lane.kind(i)]} for ${duration(length)}`;
    if (lock) what += `: ${lock}`;
    if (site) what += `, ${site}`;
    if (by) what += lane.kind(i) === 3 ? "" : `; because of ${by}`;
    return `${lane.name} at ${duration(lane.from[i] / 1e9)} ${what}`;
  }

  // The x coordinate of a time, in CSS pixels.
  x(time) {
    return this.left + ((time - this.from) / (this.to - this.from)) * (this.width - this.left);
  }

  time(x) {
    return this.from + ((x - this.left) / (this.width - this.left)) * (this.to - this.from);
  }

  // The piece that is drawn at a point. Of several, it is the shortest, which lies on top.
  at(x, y) {
    const lane = this.lanes[Math.floor((y - AXIS) / LANE)];
    if (!lane || x < this.left) return null;
    const [near, far] = [this.time(x - 2), this.time(x + 2)];
    const inStrip = (y - AXIS) % LANE > 17;
    let best = -1;
    const [first, last] = lane.within(near, far);
    for (let i = first; i < last; i++) {
      if (lane.to[i] < near || (lane.kind(i) === 3) !== inStrip) continue;
      if (best < 0 || lane.to[i] - lane.from[i] < lane.to[best] - lane.from[best]) best = i;
    }
    return { lane: this.lanes.indexOf(lane), piece: best };
  }

  draw() {
    const { canvas } = this;
    const style = getComputedStyle(canvas);
    const colors = new Map();
    const color = (name) => {
      if (!colors.has(name)) colors.set(name, style.getPropertyValue("--" + name));
      return colors.get(name);
    };
    const scale = devicePixelRatio || 1;
    this.width = canvas.parentNode.clientWidth;
    this.left = Math.min(170, Math.round(this.width * 0.28));
    const height = AXIS + this.lanes.length * LANE + 6;
    canvas.style.width = this.width + "px";
    canvas.style.height = height + "px";
    canvas.width = Math.round(this.width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    context.textBaseline = "middle";
    this.axis(context, color, height);
    this.lanes.forEach((lane, number) => this.drawLane(context, color, lane, number));
    context.fillStyle = color("bg");
    context.globalAlpha = 0.7;
    for (const [from, to] of this.gaps) {
      const [left, right] = [Math.max(from, this.from), Math.min(to, this.to)].map((time) => this.x(time));
      if (right - left > 0.5) context.fillRect(left, AXIS, right - left, height);
    }
    context.globalAlpha = 1;
  }

  axis(context, color, height) {
    const room = Math.max((this.width - this.left) / 90, 3.5);
    const about = (this.to - this.from) / room;
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= about);
    context.textAlign = "center";
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = this.x(time);
      context.fillStyle = color("line");
      context.fillRect(x, AXIS - 5, 1, height);
      context.fillStyle = color("soft");
      if (x < this.width - 20 && x > this.left + 10) context.fillText(this.label(time, step), x, AXIS / 2);
    }
  }

  // A time on the axis, with as many digits as distinguish it from its neighbours.
  label(time, step) {
    const [unit, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]
      .find(([unit]) => Math.max(time, step) >= unit) ?? [1, "ns"];
    const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
    return grouped(Math.floor(Number((time / unit).toFixed(digits)))) +
      (digits ? (time / unit).toFixed(digits).replace(/^\d+/, "") : "") + SPACE + name;
  }

  drawLane(context, color, lane, number) {
    const top = AXIS + number * LANE;
    const right = this.width;
    if (number === this.lane) {
      context.fillStyle = color("accent");
      context.globalAlpha = 0.12;
      context.fillRect(0, top, right, LANE);
      context.globalAlpha = 1;
    }
    context.fillStyle = color("ink");
    context.textAlign = "left";
    context.save();
    context.beginPath();
    context.rect(0, top, this.left - 8, LANE);
    context.clip();
    context.fillText(lane.name, 8, top + LANE / 2);
    context.restore();

    const clamp = (x) => Math.min(Math.max(x, this.left), right);
    const bar = (from, to, y, height) => {
      const [a, b] = [clamp(this.x(from)), clamp(this.x(to))];
      if (b > a || (from >= this.from && from <= this.to)) context.fillRect(a, y, Math.max(b - a, 1), height);
    };
    // Between waits, each kind of time has a band, as high as its share of that time.
    if (lane.ended >= this.from && lane.began <= this.to) {
      const [running, ready] = lane.between.map((share) => 7 * share / 1000);
      for (const [kind, y, height] of [["kernel", 0, 7], ["ready", 7 - running - ready, ready], ["run", 7 - running, running]]) {
        context.fillStyle = color(kind);
        if (height > 0) bar(lane.began, lane.ended, top + 7 + y, height);
      }
    }
    // Pieces narrower than a pixel are summed for each pixel.
    const columns = Math.max(1, Math.ceil(right - this.left));
    const sums = KINDS.map(() => null);
    const [first, last] = lane.within(this.from, this.to);
    for (let i = first; i < last; i++) {
      const kind = lane.kind(i);
      const [a, b] = [this.x(lane.from[i]), this.x(lane.to[i])];
      if (b < this.left) continue;
      if (b - a >= 1) {
        context.fillStyle = color(KINDS[kind]);
        context.globalAlpha = 0.35 + 0.65 * lane.share(i);
        const [y, height] = Timeline.strip(kind, top);
        context.fillRect(clamp(a), y, Math.max(clamp(b) - clamp(a), 1), height);
      } else {
        sums[kind] ??= new Float64Array(columns);
        const column = Math.min(Math.max(Math.floor(a - this.left), 0), columns - 1);
        sums[kind][column] += (b - a) * lane.share(i) + 1e-6;
      }
    }
    sums.forEach((sum, kind) => {
      if (!sum) return;
      context.fillStyle = color(KINDS[kind]);
      const [y, height] = Timeline.strip(kind, top);
      sum.forEach((share, column) => {
        if (share === 0) return;
        context.globalAlpha = Math.min(1, 0.25 + 0.75 * share);
        context.fillRect(this.left + column, y, 1, height);
      });
    });
    context.globalAlpha = 1;
    if (number === this.lane && this.piece >= 0) {
      const [y, height] = Timeline.strip(lane.kind(this.piece), top);
      const [a, b] = [clamp(this.x(lane.from[this.piece])), clamp(this.x(lane.to[this.piece]))];
      context.strokeStyle = color("ink");
      context.lineWidth = 2;
      context.strokeRect(a - 1, y - 1, Math.max(b - a, 1) + 2, height + 2);
    }
  }

  // Top and height of the strip of a kind: waits above, holds below, so that not only their colour
  // distinguishes them.
  static strip(kind, top) {
    if (kind === 3) return [top + 18, 5];
    return kind === 2 ? [top + 6, 9] : [top + 3, 15];
  }
}
