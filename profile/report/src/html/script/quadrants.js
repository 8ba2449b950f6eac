// Shows the name of a point of the quadrants: that under the pointer, or one chosen by the arrow
// keys.
for (const picture of document.querySelectorAll(".quadrants")) {
  const svg = picture.querySelector("svg");
  const status = picture.querySelector(".status");
  // The points are sorted from left to right, so that the keys go in the direction of their arrows.
  const middle = (dot) => dot.getBBox().x + dot.getBBox().width / 2;
  let dots = null;
  let chosen = null;
  const choose = (dot) => {
    chosen?.classList.remove("chosen");
    chosen = dot;
    dot.classList.add("chosen");
    status.textContent = dot.querySelector("title").textContent;
  };
  svg.addEventListener("pointerover", (event) => {
    const dot = event.target.closest(".dot");
    if (dot) choose(dot);
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    dots ??= [...svg.querySelectorAll(".dot")].sort((a, b) => middle(a) - middle(b));
    const place = chosen ? dots.indexOf(chosen) + step : step > 0 ? 0 : dots.length - 1;
    choose(dots[Math.min(Math.max(place, 0), dots.length - 1)]);
  });
}
