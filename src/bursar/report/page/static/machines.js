// Machines over time on a canvas: rows with attempts, or a raster of seats with their sum above.
let machineHits = null;
function hatch(context, ink) {
  const tile = document.createElement("canvas"); tile.width = tile.height = 6;
  const draw = tile.getContext("2d"); draw.strokeStyle = ink; draw.lineWidth = 1.1;
  draw.beginPath(); draw.moveTo(-1, 7); draw.lineTo(7, -1); draw.moveTo(-1, 1); draw.lineTo(1, -1); draw.moveTo(5, 7); draw.lineTo(7, 5); draw.stroke();
  return context.createPattern(tile, "repeat");
}
// The page of a live run gives a drawing the height that it has at first, with some room to grow. What comes later
// scrolls inside, so that nothing below it moves.
function roomFor(box, natural) {
  if (!document.body.classList.contains("live")) return natural;
  if (!box.dataset.room) box.dataset.room = Math.max(300, Math.min(640, natural));
  return Number(box.dataset.room);
}
function paper(box, height, label) {
  let node = box.querySelector("canvas");
  if (!node) { node = document.createElement("canvas"); add(clear(box), node); node.setAttribute("role", "img"); watchMachines(node); }
  const width = Math.max(200, box.clientWidth), dense = window.devicePixelRatio || 1;
  node.width = Math.round(width * dense); node.height = Math.round(height * dense);
  node.style.height = height + "px"; box.style.height = roomFor(box, height) + "px";
  node.setAttribute("aria-label", label);
  const context = node.getContext("2d"); context.scale(dense, dense);
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  return { context, width };
}
function axisBelow(context, x, end, top, bottom) {
  const step = timeStep(x.active, Math.max(3, Math.floor((x(end) - x(0)) / 90)), end);
  context.textAlign = "center"; context.fillStyle = colour("ink3"); context.strokeStyle = colour("grid");
  for (const value of ticks(0, end, step)) {
    if (x.pauses.some(([a, b]) => value > a && value < b)) continue;
    context.fillText(timeTick(value, end), x(value), bottom + 15);
    context.beginPath(); context.moveTo(x(value), bottom); context.lineTo(x(value), bottom + 3); context.stroke();
  }
}
function drawMachines(box, data) {
  const machines = data.machines;
  machineHits = null;
  if (!machines.rented) { box.style.height = roomFor(box, 120) + "px"; emptyState(box, "No machine has been rented yet."); return; }
  if (machines.rows) drawRows(box, data); else drawRaster(box, data);
}
function drawRows(box, data) {
  const { charts, machines } = data, rows = machines.rows, live = data.live;
  const gap = 6, gaps = gap * (new Set(rows.map((row) => row.offer)).size - 1), frame = 28;
  const natural = rows.length * (rows.length > 24 ? 9 : 16) + gaps + frame, room = roomFor(box, natural);
  const pitch = Math.max(9, Math.min(16, Math.floor((room - gaps - frame) / rows.length))), small = pitch < 13, bar = pitch - (small ? 2 : 3);
  let y = 4, before = null;
  const tops = rows.map((row) => { if (before !== null && row.offer !== before) y += gap; before = row.offer; const at = y; y += pitch; return at; });
  const bottom = y + 2, height = bottom + 22;
  const { context, width } = paper(box, height, `${machines.rented} machines over time, ${machines.lost} lost; the table of offers has the sums.`);
  const longest = Math.max(...rows.map((row) => (small ? row.offer : row.name).length));
  const left = Math.min(width < 480 ? 74 : 128, 12 + 6.4 * longest), right = width - 8;
  const end = Math.max(charts.now, ...rows.map((row) => live && row.gone === null ? Math.min(row.until, charts.now * 1.25) : row.gone === null ? charts.now : Math.min(row.until, charts.now * 1.1)), 0.001);
  const x = timeScale(0, end, left, right, charts.pauses);
  const tones = {}; for (const use of USES) tones[use] = use === "rounded" || use === "ahead" ? null : colour(use);
  tones.replica = hatch(context, colour("off"));
  const stripes = hatch(context, colour("idle")), ink = colour("ink"), ink3 = colour("ink3"), panel = colour("panel");
  for (const [a, b] of x.pauses) { context.fillStyle = colour("shade"); context.fillRect(x(a), 0, Math.max(2, x(b) - x(a)), bottom); }
  let named = null;
  rows.forEach((row, n) => {
    const top = tops[n], middle = top + bar / 2, gone = row.gone === null ? charts.now : row.gone, up = row.up === null ? gone : row.up;
    context.textAlign = "right"; context.fillStyle = ink3;
    if (!small) context.fillText(squeezed(row.name, width < 480 ? 10 : 18), left - 6, middle + 4);
    else if (row.offer !== named) context.fillText(squeezed(row.offer, width < 480 ? 10 : 18), left - 6, middle + 4);
    named = row.offer;
    const box2 = (a, b, from, tall, fill) => { context.fillStyle = fill; context.fillRect(x(a), from, Math.max(0.6, x(b) - x(a)), tall); };
    box2(row.rented, up, top + bar / 4, bar / 2, tones.booting);
    if (gone > up) box2(up, gone, top + bar / 3, bar / 3, tones.idle);
    const slots = row.slots || 1, lane = bar / slots;
    for (const [a, b, use, , slot] of row.segments || []) {
      context.fillStyle = panel; context.fillRect(x(a), top + slot * lane, Math.max(0.6, x(b) - x(a)), lane);
      context.fillStyle = tones[USES[use]];
      const wide = x(b) - x(a), edge = wide > 3 ? 0.8 : 0;
      context.fillRect(x(a), top + slot * lane, Math.max(0.6, wide - edge), slots > 1 ? Math.max(1, lane - 0.6) : lane);
      if (USES[use] === "failed" && wide > 8 && lane > 5) { context.strokeStyle = panel; context.lineWidth = 1.3; const cx = x(b) - 5, cy = top + slot * lane + lane / 2; context.beginPath(); context.moveTo(cx - 2, cy - 2); context.lineTo(cx + 2, cy + 2); context.moveTo(cx - 2, cy + 2); context.lineTo(cx + 2, cy - 2); context.stroke(); }
    }
    if (row.until > gone) {
      const to = Math.min(row.until, end);
      if (row.gone !== null) { context.fillStyle = stripes; context.fillRect(x(gone), top + bar / 6, Math.max(0, x(to) - x(gone)), bar * 2 / 3); }
      else if (live) { context.strokeStyle = ink3; context.setLineDash([2, 2]); context.lineWidth = 1; context.strokeRect(x(gone) + 0.5, top + 0.5, Math.max(0, x(to) - x(gone)), bar - 1); context.setLineDash([]); }
    }
    if (row.lost) { context.strokeStyle = tones.lost; context.lineWidth = 2; const cx = x(gone); context.beginPath(); context.moveTo(cx - 3, middle - 3); context.lineTo(cx + 3, middle + 3); context.moveTo(cx - 3, middle + 3); context.lineTo(cx + 3, middle - 3); context.stroke(); }
  });
  if (live) { context.strokeStyle = ink; context.lineWidth = 1; context.beginPath(); context.moveTo(x(charts.now), 0); context.lineTo(x(charts.now), bottom); context.stroke(); }
  axisBelow(context, x, end, 0, bottom);
  machineCursor(box, x, end, bottom);
  machineHits = { x, rows, tops, bar, charts, left };
}
function drawRaster(box, data) {
  const { charts, machines } = data, raster = machines.raster, seats = raster.offers.reduce((sum, one) => sum + one[1], 0);
  const sumHeight = 90, each = seats > 250 ? Math.min(1, 500 / seats) : Math.min(14, 500 / seats), tall = Math.round(seats * each);
  const top = sumHeight + 16, height = top + tall + 26 + 4 * raster.offers.length;
  const { context, width } = paper(box, height, `${machines.rented} machines in ${seats} seats over time, ${machines.lost} lost; the table of offers has the sums.`);
  const left = width < 480 ? 74 : 112, right = width - 8, x = timeScale(0, raster.end, left, right, []);
  const bytes = unpacked(raster.cells, seats * raster.bins);
  const tones = USES.map((use) => rgb(use === "rounded" || use === "ahead" ? "idle" : use === "replica" ? "off" : use));
  const pale = seats > 60 ? 0.3 : 1, back = rgb("panel");
  // The sum, stacked, exact.
  const order = ["useful", "running", "replica", "off", "failed", "lost", "booting", "idle"], base = new Array(raster.bins).fill(0);
  const y = linear(0, seats, sumHeight, 4), cell = (right - left) / raster.bins;
  for (const use of order) {
    context.fillStyle = use === "replica" ? hatch(context, colour("off")) : colour(use); context.globalAlpha = use === "useful" ? pale : 1;
    raster.sums[use].forEach((value, bin) => { if (value <= 0) return; context.fillRect(left + bin * cell, y(base[bin] + value), cell + 0.4, y(base[bin]) - y(base[bin] + value)); base[bin] += value; });
  }
  context.globalAlpha = 1; context.textAlign = "right"; context.fillStyle = colour("ink3");
  context.fillText(fixed(seats, 0), left - 6, 10); context.fillText("0", left - 6, sumHeight);
  let from = 0, drawn = top;
  for (const [offer, count] of raster.offers) {
    const image = new ImageData(raster.bins, count);
    for (let n = 0; n < count * raster.bins; n += 1) {
      const use = bytes[from * raster.bins + n];
      if (!use) continue;
      const tone = tones[use - 1], pallid = use === 1;
      for (let k = 0; k < 3; k += 1) image.data[4 * n + k] = pallid ? tone[k] * pale + back[k] * (1 - pale) : tone[k];
      image.data[4 * n + 3] = 255;
    }
    const small = document.createElement("canvas"); small.width = raster.bins; small.height = count;
    small.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, drawn, right - left, count * each);
    context.textAlign = "right"; context.fillStyle = colour("ink3");
    context.fillText(squeezed(offer, width < 480 ? 10 : 16), left - 6, drawn + count * each / 2); context.fillText(fixed(count, 0), left - 6, drawn + count * each / 2 + 13);
    from += count; drawn += count * each + 4;
  }
  axisBelow(context, x, raster.end, top, drawn);
  machineCursor(box, x, raster.end, drawn);
}
// Runs of equal cells: a letter has the value above, the length less one below.
function unpacked(text, size) {
  const runs = atob(text), cells = new Uint8Array(size);
  for (let n = 0, at = 0; n < runs.length; n += 1) { const run = runs.charCodeAt(n), to = at + (run & 15) + 1; cells.fill(run >> 4, at, to); at = to; }
  return cells;
}
function rgb(name) { const hex = colour(name); const full = hex.length === 4 ? [...hex.slice(1)].map((c) => c + c).join("") : hex.slice(1, 7); return [0, 2, 4].map((n) => parseInt(full.slice(n, n + 2), 16)); }
function machineCursor(box, x, end, height) {
  let mark = box.querySelector(".cursor-line");
  if (!mark) { mark = el("div", "cursor-line gone"); box.appendChild(mark); }
  mark.style.height = height + "px";
  cursors[box.id] = { place: (at) => { mark.classList.toggle("gone", at === null); if (at !== null) mark.style.left = at.toFixed(1) + "px"; }, from: 0, to: end, x };
}
// What a machine did at a moment, in words.
function machineAt(row, t, charts) {
  const gone = row.gone === null ? charts.now : row.gone, found = (row.segments || []).find(([a, b]) => t >= a && t < b);
  let text = "";
  if (found) text = `${WORDS[USES[found[2]]]}: task ${found[3]}, ${duration(found[1] - found[0])}`;
  else if (t < row.rented) text = ""; else if (row.up === null || t < row.up) text = `booting: ${duration((row.up === null ? gone : row.up) - row.rented)}`;
  else if (t < gone) text = "idle, paid"; else if (t < row.until) text = (row.gone === null ? "paid ahead: " : "rounded up: ") + duration(row.until - gone);
  return text ? `${row.name} at ${moment(t)}\n${text}` : "";
}
function watchMachines(node) {
  node.addEventListener("mousemove", (event) => {
    if (!machineHits) { tip(""); return; }
    const at = node.getBoundingClientRect(), px = event.clientX - at.left, py = event.clientY - at.top, { x, rows, tops, bar, charts, left } = machineHits;
    const n = tops.findIndex((top) => py >= top - 1 && py <= top + bar + 1);
    if (n < 0 || px < left) { tip(""); return; }
    moveCursor(x.invert(px));
    tip(machineAt(rows[n], x.invert(px), charts), event);
  });
  node.addEventListener("mouseleave", () => { moveCursor(null); tip(""); });
  readMachinesByKeys(node.parentNode);
}
// Up and down choose a machine, left and right go from one thing that it did to the next.
const machineRead = { row: 0, turn: -1 };
function readMachinesByKeys(box) {
  box.addEventListener("keydown", (event) => {
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key], along = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!machineHits || (down === undefined && along === undefined)) return;
    event.preventDefault();
    const { x, rows, tops, charts } = machineHits, inside = (value, most) => Math.max(0, Math.min(most, value));
    if (down) { machineRead.row = inside(machineRead.row + (machineRead.turn < 0 ? 0 : down), rows.length - 1); machineRead.turn = 0; }
    machineRead.row = inside(machineRead.row, rows.length - 1);
    const row = rows[machineRead.row], did = machineMoments(row, charts);
    if (along) machineRead.turn = inside(machineRead.turn + along, did.length - 1);
    const t = did[machineRead.turn], top = tops[machineRead.row];
    box.scrollTop = Math.max(0, Math.min(top, Math.max(box.scrollTop, top - box.clientHeight + 40)));
    moveCursor(t); tellAt(box, x(t), top - box.scrollTop, machineAt(row, t, charts));
  });
  box.addEventListener("blur", () => { moveCursor(null); tip(""); });
}
// A moment within each thing that a machine did, in their order.
function machineMoments(row, charts) {
  const gone = row.gone === null ? charts.now : row.gone, up = row.up === null ? gone : row.up, middle = (a, b) => (a + b) / 2;
  const found = (row.segments || []).map(([a, b]) => middle(a, b));
  if (up > row.rented) found.push(middle(row.rented, up));
  let from = up;
  for (const [a, b] of [...(row.segments || [])].sort((one, other) => one[0] - other[0])) { if (a > from) found.push(middle(from, a)); from = Math.max(from, b); }
  if (gone > from) found.push(middle(from, gone));
  if (row.until > gone) found.push(middle(gone, row.until));
  return found.length ? found.sort((a, b) => a - b) : [row.rented];
}
