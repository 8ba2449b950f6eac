// Moves through a timeline by keys, buttons and the pointer.
class View {
  constructor(box) {
    this.status = box.querySelector(".status");
    this.frame = box.querySelector(".view");
    const data = JSON.parse(box.querySelector("script").textContent);
    this.timeline = new Timeline(box.querySelector("canvas"), data);
    this.frame.addEventListener("keydown", (event) => this.key(event));
    box.querySelector(".tools").addEventListener("click", (event) => this.do(event.target.dataset.do));
    this.pointer(box.querySelector("canvas"));
    this.tell();
    this.draw();
    new ResizeObserver(() => this.draw()).observe(this.frame);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.frame.clientWidth > 0) this.timeline.draw();
    });
  }

  // Shows a text about the visible range and the chosen piece.
  tell() {
    const { from, to, lane, piece, lanes } = this.timeline;
    const range = `${duration(from / 1e9)} to ${duration(to / 1e9)}`;
    const what = piece >= 0 ? this.timeline.say(lanes[lane], piece) : lanes[lane]?.name ?? "";
    this.status.textContent = `${range}. ${what}`;
    this.frame.dataset.from = from;
    this.frame.dataset.to = to;
  }

  show(from, to) {
    const { end } = this.timeline;
    const length = Math.min(Math.max(to - from, 100), end);
    const start = Math.min(Math.max(from, 0), end - length);
    Object.assign(this.timeline, { from: start, to: start + length });
    this.tell();
    this.draw();
  }

  zoom(factor, around) {
    const { from, to } = this.timeline;
    const middle = around ?? (from + to) / 2;
    this.show(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  move(share) {
    const { from, to } = this.timeline;
    this.show(from + (to - from) * share, to + (to - from) * share);
  }

  choose(lane, piece) {
    const { lanes } = this.timeline;
    this.timeline.lane = Math.min(Math.max(lane, 0), lanes.length - 1);
    this.timeline.piece = piece;
    const top = this.timeline.lane * LANE;
    const { frame } = this;
    if (top < frame.scrollTop || top + 2 * AXIS + LANE > frame.scrollTop + frame.clientHeight) {
      frame.scrollTop = top - frame.clientHeight / 2;
    }
    this.tell();
    this.draw();
  }

  // Chooses the next or the previous piece of the chosen thread.
  next(step) {
    const { lanes, lane, piece, from, to } = this.timeline;
    const { count } = lanes[lane];
    if (count === 0) return;
    const first = piece < 0 ? lanes[lane].within(from, to)[step > 0 ? 0 : 1] - (step > 0 ? 0 : 1) : piece + step;
    const place = Math.min(Math.max(first, 0), count - 1);
    this.choose(lane, place);
    const [began, ended] = [lanes[lane].from[place], lanes[lane].to[place]];
    if (ended < from || began > to) {
      const middle = (began + ended) / 2;
      this.show(middle - (to - from) / 2, middle + (to - from) / 2);
    }
  }

  enter() {
    const { lanes, lane, piece } = this.timeline;
    if (piece < 0) return;
    const [began, ended] = [lanes[lane].from[piece], lanes[lane].to[piece]];
    const room = Math.max((ended - began) / 2, 50);
    this.show(began - room, ended + room);
  }

  do(what) {
    const all = () => this.show(0, this.timeline.end);
    ({
      in: () => this.zoom(0.5), out: () => this.zoom(2), left: () => this.move(-0.25), right: () => this.move(0.25), all,
    })[what]?.();
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { lane } = this.timeline;
    const action = {
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      ArrowLeft: () => (event.shiftKey ? this.next(-1) : this.move(-0.2)),
      ArrowRight: () => (event.shiftKey ? this.next(1) : this.move(0.2)),
      ArrowUp: () => this.choose(lane - 1, -1),
      ArrowDown: () => this.choose(lane + 1, -1),
      Home: () => this.do("all"),
      Enter: () => this.enter(),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  pointer(canvas) {
    let drag = null;
    const at = (event) => {
      const { left, top } = canvas.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, from: this.timeline.from, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const points = event.clientX - drag.x;
      if (Math.abs(points) > 3) drag.moved = true;
      if (!drag.moved) return;
      const { from, to } = this.timeline;
      const start = drag.from - (points / (this.timeline.width - this.timeline.left)) * (to - from);
      this.show(start, start + to - from);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.moved) {
        const found = this.timeline.at(...at(event));
        if (found) this.choose(found.lane, found.piece);
      }
      drag = null;
    });
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, this.timeline.time(at(event)[0])));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.timeline.time(at(event)[0]));
    }, { passive: false });
  }
}

// The data of a timeline is read when the timeline first comes near the visible part of the page,
// or is printed.
{
  const boxes = [...document.querySelectorAll(".timeline")];
  const views = new Map();
  const look = (box) => {
    if (!views.has(box)) views.set(box, new View(box));
    return views.get(box);
  };
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) look(entry.target);
  }, { rootMargin: "600px" });
  for (const box of boxes) observer.observe(box);
  addEventListener("beforeprint", () => {
    for (const box of boxes) if (box.clientWidth > 0) look(box).timeline.draw();
  });
}
