// The texts of the page whose contrast to what is behind them is too low, by WCAG 2.2:
// 4.5, and 3 for large text.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const behind = (element) => {
    if (!element) return [255, 255, 255, 1];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const faults = new Set();
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (["SCRIPT", "STYLE", "title", "NOSCRIPT"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const inSvg = element instanceof SVGElement;
    const back = behind(inSvg ? element.closest("svg").parentElement : element);
    const text = over(rgba(inSvg ? style.fill : style.color), back);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    const found = ratio(text, back);
    if (found < (large ? 3 : 4.5)) {
      faults.add(`${found.toFixed(2)}: ${element.tagName}.${element.getAttribute("class")} ${walker.currentNode.textContent.trim().slice(0, 40)}`);
    }
  }
  return { seen, faults: [...faults] };
})()
