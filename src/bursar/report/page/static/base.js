// Elements, numbers, scales. All text goes through textContent: names, commands and stderr are hostile.
const USES = ["useful", "running", "replica", "off", "failed", "lost", "booting", "idle", "rounded", "ahead"];
const WORDS = { useful: "useful", running: "running", replica: "replica", off: "called off", failed: "failed", lost: "lost",
  booting: "booting", idle: "idle", rounded: "rounded up", ahead: "paid ahead" };
const NB = "\u00a0";

// Control codes, and marks that turn the direction of what follows, are shown as escapes: nobody writes them by accident.
const CODES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
function plain(text) { return String(text).replace(CODES, (code) => "\\u" + code.charCodeAt(0).toString(16).padStart(4, "0")); }
function short(text, most) { const shown = plain(text); return shown.length > most ? shown.slice(0, most - 1) + "…" : shown; }
// Both ends of a name: machines of one offer differ in their last letters.
function squeezed(text, most) { const shown = plain(text); return shown.length > most ? shown.slice(0, most - 8) + "…" + shown.slice(-7) : shown; }
function words(text) { return document.createTextNode(plain(text)); }
function el(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = plain(text);
  return made;
}
function add(parent, ...children) { for (const one of children) if (one) parent.appendChild(one); return parent; }
function clear(parent) { while (parent.firstChild) parent.removeChild(parent.firstChild); return parent; }
function byId(id) { return document.getElementById(id); }
function svg(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) if (attributes[name] !== undefined) made.setAttribute(name, attributes[name]);
  if (text !== undefined) made.textContent = plain(text);
  return made;
}
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
function setText(node, text) { const shown = plain(text); if (node && node.textContent !== shown) node.textContent = shown; }
function fixed(value, digits) { return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }); }
function three(value) { return value >= 99.95 ? fixed(value, 0) : value >= 9.995 ? fixed(value, 1) : fixed(value, 2); }
function duration(s) {
  if (s < 0) return "−" + duration(-s);
  if (s >= 172800) return three(s / 86400) + NB + "d";
  if (s >= 7200) return three(s / 3600) + NB + "h";
  if (s >= 120) return three(s / 60) + NB + "min";
  if (s >= 0.9995) return three(s) + NB + "s";
  return s ? three(s * 1000) + NB + "ms" : "0" + NB + "s";
}
function moment(s) {
  if (s < 60) return s.toFixed(1) + NB + "s";
  const whole = Math.floor(s), two = (n) => String(n).padStart(2, "0");
  return Math.floor(whole / 3600) + ":" + two(Math.floor(whole / 60) % 60) + ":" + two(whole % 60);
}
const SIGNS = { USD: "$", EUR: "€", GBP: "£" };
function withSign(figure, currency) { return SIGNS[currency] ? SIGNS[currency] + figure : figure + NB + currency; }
function money(value, currency) {
  if (!value) return withSign("0", currency);
  if (value >= 1000) return withSign(fixed(value, 0), currency);
  const cents = 100 * value;
  if (value >= 0.1 || (cents > 0.5 && Math.abs(cents - Math.round(cents)) < 1e-9)) return withSign(fixed(value, 2), currency);
  let digits = 3;
  while (value * 10 ** digits < 100 && digits < 12) digits += 1;
  return withSign(value.toFixed(digits), currency);
}
function moneyTick(value, step, currency) {
  if (!value) return withSign("0", currency);
  if (value >= 5000) return withSign(fixed(value / 1000, step < 1000 ? 1 : 0) + "k", currency);
  return withSign(fixed(value, step >= 1 ? (value >= 1000 ? 0 : 0) : Math.min(6, Math.max(2, Math.ceil(-Math.log10(step))))), currency);
}
function niceStep(span, most) {
  const least = span / most, power = 10 ** Math.floor(Math.log10(least));
  for (const part of [1, 2, 5, 10]) if (power * part >= least * (1 - 1e-9)) return power * part;
  return power * 10;
}
// The unit of an axis is that of its far end, so that all its labels have the same.
function timeUnit(high) { return high >= 172800 ? [86400, "d"] : high >= 7200 ? [3600, "h"] : high >= 120 ? [60, "min"] : [1, "s"]; }
function timeStep(span, most, high) { const unit = timeUnit(high)[0]; return niceStep(span / unit, most) * unit; }
function timeTick(value, high) {
  const [unit, name] = timeUnit(high);
  return Number((value / unit).toFixed(6)).toLocaleString("en-US") + NB + name;
}
function ticks(low, high, step) {
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) found.push(Number((n * step).toPrecision(12)));
  return found;
}
function linear(d0, d1, p0, p1) { const k = (p1 - p0) / ((d1 - d0) || 1); return (value) => p0 + (value - d0) * k; }

// Time, from which pauses are cut: each becomes a narrow gap, and the labels stay true.
const GAP = 16;
function timeScale(d0, d1, p0, p1, pauses) {
  const cut = (pauses || []).filter(([a, b]) => a >= d0 && b <= d1 && b - a > 0.05 * (d1 - d0 - (b - a)));
  const idle = cut.reduce((sum, [a, b]) => sum + (b - a), 0);
  const k = (p1 - p0 - GAP * cut.length) / ((d1 - d0 - idle) || 1);
  const at = (t) => {
    let x = p0, from = d0;
    for (const [a, b] of cut) {
      if (t <= a) break;
      x += (a - from) * k;
      if (t < b) return x + GAP * (t - a) / (b - a);
      x += GAP; from = b;
    }
    return x + (t - from) * k;
  };
  at.pauses = cut; at.k = k; at.active = d1 - d0 - idle;
  at.invert = (x) => {
    let low = d0, high = d1;
    for (let n = 0; n < 40; n += 1) { const mid = (low + high) / 2; if (at(mid) < x) low = mid; else high = mid; }
    return (low + high) / 2;
  };
  return at;
}
function stepPath(t, v, x, y, until) {
  let path = "";
  for (let n = 0; n < t.length; n += 1) path += n ? "H" + x(t[n]).toFixed(1) + "V" + y(v[n]).toFixed(1) : "M" + x(t[n]).toFixed(1) + " " + y(v[n]).toFixed(1);
  if (t.length && until > t[t.length - 1]) path += "H" + x(until).toFixed(1);
  return path;
}
function valueAt(steps, t) {
  let low = 0, high = steps.t.length - 1, found = 0;
  while (low <= high) { const mid = (low + high) >> 1; if (steps.t[mid] <= t) { found = steps.v[mid]; low = mid + 1; } else high = mid - 1; }
  return found;
}
let tipNode = null;
function tip(text, event) {
  if (!tipNode) { tipNode = el("div", "tip gone"); tipNode.setAttribute("aria-hidden", "true"); document.body.appendChild(tipNode); }
  tipNode.classList.toggle("gone", !text);
  if (!text) return;
  setText(tipNode, text);
  const width = Math.min(320, tipNode.offsetWidth);
  tipNode.style.left = Math.max(4, Math.min(window.innerWidth - width - 8, event.clientX + 14)) + "px";
  tipNode.style.top = Math.max(4, Math.min(window.innerHeight - 60, event.clientY + 16)) + "px";
}
function emptyState(box, ...lines) {
  const holder = el("div", "empty"), inner = el("div");
  for (const line of lines) inner.appendChild(el("div", "", line));
  add(clear(box), add(holder, inner));
}
function copyButton(text) {
  const button = el("button", "", "Copy");
  button.type = "button"; button.setAttribute("aria-label", "Copy the command " + text);
  button.addEventListener("click", () => {
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(done, () => {});
    else { const area = el("textarea"); area.value = text; document.body.appendChild(area); area.select(); document.execCommand("copy"); area.remove(); done(); }
  });
  return button;
}
function command(text) { return add(el("div", "command"), el("code", "", text), copyButton(text)); }
