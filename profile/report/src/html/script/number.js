// Formats numbers like the Rust code that makes the page: mostly three significant digits, and a
// unit. Spaces are narrow and do not break.
const SPACE = "\u202f";

function grouped(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, SPACE);
}

function threeDigits(value) {
  return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

function large(number) {
  for (const [unit, name] of [[1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"]]) {
    if (number / unit < 999.5) return threeDigits(number / unit) + SPACE + name;
  }
  return number.toExponential(1).replace("e+", "e");
}

function duration(seconds) {
  if (seconds <= 0) return "0";
  if (seconds >= 600) {
    const whole = Math.round(seconds);
    const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60)];
    return hours === 0
      ? [minutes, "min", whole % 60, "s"].join(SPACE)
      : [grouped(hours), "h", minutes % 60, "min"].join(SPACE);
  }
  const units = [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]];
  const [unit, name] = units.find(([unit]) => seconds / unit < 999.5) ?? units[3];
  const value = seconds / unit;
  return (unit === 1e-9 ? value.toFixed(0) : threeDigits(value)) + SPACE + name;
}

function count(number) {
  return number < 10000 ? grouped(number) : large(number);
}

function rate(perSecond) {
  if (perSecond <= 0) return "0";
  if (perSecond < 0.1) return "<0.1";
  if (perSecond < 9.95) return perSecond.toFixed(1);
  return perSecond < 9999.5 ? grouped(perSecond) : large(perSecond);
}

function percent(share) {
  const value = share * 100;
  if (value <= 0) return "0" + SPACE + "%";
  if (value < 0.1) return "<0.1" + SPACE + "%";
  if (value > 99.9 && share < 1) return ">99.9" + SPACE + "%";
  return (value >= 99.95 ? "100" : value.toFixed(1)) + SPACE + "%";
}

const FORMATS = { duration, count, rate, percent };
