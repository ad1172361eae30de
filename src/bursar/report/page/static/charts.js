// Time and money, money, tasks, forecasts, run times: SVG in the size of its box.
function canvasFor(box, label) {
  const width = Math.max(200, box.clientWidth), height = Math.max(80, box.clientHeight);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  add(clear(box), root);
  return { root, width, height };
}
function line(root, x1, y1, x2, y2, stroke, more) { root.appendChild(svg("line", { x1, y1, x2, y2, stroke, ...more })); }
function label(root, x, y, text, className, anchor) { const made = svg("text", { x, y, class: className, "text-anchor": anchor || "start" }, text); root.appendChild(made); return made; }
function limitLabel(root, x, y, text) { label(root, x, y, text, "ink"); }
function timeAxis(root, x, d0, d1, y, most) {
  const step = timeStep(x.active === undefined ? d1 - d0 : x.active, most, d1);
  let last = -99;
  for (const value of ticks(d0, d1, step)) {
    if ((x.pauses || []).some(([a, b]) => value > a && value < b)) continue;
    if (x(value) - last < 34) continue;
    last = x(value);
    line(root, x(value), y.top, x(value), y.bottom, "var(--grid)");
    label(root, x(value), y.bottom + 15, timeTick(value, d1), "", "middle");
  }
}
function pauseMarks(root, x, top, bottom) {
  for (const [a, b] of x.pauses) {
    root.appendChild(svg("rect", { x: x(a), y: top, width: Math.max(2, x(b) - x(a)), height: bottom - top, fill: "var(--shade)" }));
    const text = label(root, 0, 0, "paused " + duration(b - a), "", "middle");
    text.setAttribute("transform", `translate(${(x(a) + x(b)) / 2 + 4} ${(top + bottom) / 2}) rotate(-90)`);
  }
}
function moneyAxis(root, y, low, high, left, right, currency, most) {
  const step = niceStep(high - low, most || 4);
  for (const value of ticks(low, high, step)) {
    line(root, left, y(value), right, y(value), "var(--grid)");
    label(root, left - 6, y(value) + 4, moneyTick(value, step, currency), "", "end");
  }
}
// One moment under the mouse, marked in every chart that has time from left to right.
const cursors = {};
function moveCursor(t) {
  for (const id in cursors) {
    const { place, from, to, x } = cursors[id], seen = t !== null && t >= from && t <= to;
    place(seen ? x(t) : null);
  }
}
function hover(root, x, left, right, top, bottom, tell) {
  const cursor = svg("line", { y1: top, y2: bottom, stroke: "var(--ink3)", "stroke-dasharray": "2 2", visibility: "hidden", class: "cursor" });
  const pad = svg("rect", { x: left, y: top, width: right - left, height: bottom - top, fill: "transparent" });
  add(root, cursor, pad);
  const place = (at) => { cursor.setAttribute("visibility", at === null ? "hidden" : "visible"); if (at !== null) { cursor.setAttribute("x1", at); cursor.setAttribute("x2", at); } };
  cursors[root.parentNode.id] = { place, from: x.invert(left), to: x.invert(right), x };
  pad.addEventListener("mousemove", (event) => {
    const t = x.invert(event.clientX - root.getBoundingClientRect().left);
    moveCursor(t); tip(tell(t), event);
  });
  pad.addEventListener("mouseleave", () => { moveCursor(null); tip(""); });
  readByKeys(root.parentNode, x, left, right, tell);
}
// Arrow keys move the moment through a chart that has the focus; what a mouse is shown is said as well.
const reading = {};
function readByKeys(box, x, left, right, tell) {
  const first = !reading[box.id];
  reading[box.id] = { ...reading[box.id], x, left, right, tell };
  if (!first) return;
  box.tabIndex = 0; box.setAttribute("role", "group"); box.setAttribute("aria-label", "Chart; arrow keys read its values");
  box.addEventListener("keydown", (event) => {
    const chart = reading[box.id], step = (chart.right - chart.left) / 40;
    const move = { ArrowLeft: -step, ArrowRight: step, Home: -1e9, End: 1e9 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    chart.at = Math.max(chart.left, Math.min(chart.right, (chart.at === undefined ? chart.left : chart.at) + move));
    const t = chart.x.invert(chart.at);
    moveCursor(t); tellAt(box, chart.at, 12, chart.tell(t));
  });
  box.addEventListener("blur", () => { moveCursor(null); tip(""); });
}
// A tip at a place of a box, which is said, too.
function tellAt(box, px, py, text) {
  const at = box.getBoundingClientRect();
  tip(text, { clientX: at.left + px, clientY: at.top + py });
  setText(byId("read-aloud"), text || "nothing here");
}
function niceTop(high) { const step = niceStep(high || 1, 4); return Math.ceil((high || 1) / step - 1e-9) * step; }
function span(charts, ahead) { return Math.max(charts.now, ahead ? ahead.end[2] : 0, 0.001) * 1.02; }

// What to type where there is nothing to show yet.
function howToBegin(data) { return data.live && data.about.accounts.length ? ["Submit some: bursar submit FLOW.yaml"] : []; }
function drawPlane(box, data) {
  const { charts, forecast, live } = data, plans = charts.plans, path = forecast.history, ahead = forecast.now;
  const ended = !live && path.length + plans.length + charts.done.t.length > 1;
  const actual = ended ? { t: charts.done.t[charts.done.t.length - 1], m: charts.money.v[charts.money.v.length - 1] } : null;
  if (!plans.length && !path.length && !ahead) {
    emptyState(box, data.live ? "No plan and no forecast yet." : "No plan and no forecast.", data.live ? "A forecast needs results of a third of what began." : "bursar plan offers plans before a run."); return;
  }
  const xs = [], ys = [];
  for (const one of plans) { xs.push(one.end, one.chosen ? one.end_upper : one.end); ys.push(one.cost, one.chosen ? one.cost_upper : one.cost); }
  for (const one of path) { xs.push(one.end[1]); ys.push(one.cost[1]); }
  if (ahead) { xs.push(...ahead.end); ys.push(...ahead.cost); }
  if (actual) { xs.push(actual.t); ys.push(actual.m); }
  const top = Math.max(...ys), far = Math.max(...xs);
  if (charts.budget && charts.budget < 1.6 * top) ys.push(charts.budget * 1.04);
  if (charts.deadline && charts.deadline < 1.6 * far) xs.push(charts.deadline * 1.03);
  let x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
  const wide = Math.max(x1 - x0, 0.2 * x1) || 1, tall = Math.max(y1 - y0, 0.2 * y1) || 1;
  x0 = Math.max(0, x0 - 0.12 * wide); x1 += 0.12 * wide; y0 = Math.max(0, y0 - 0.1 * tall); y1 += 0.12 * tall;
  const { root, width, height } = canvasFor(box, "Plans and forecasts by time and money. " + data.verdict.text);
  const left = 56, right = width - 8, yTop = 10, bottom = height - 22;
  const x = linear(x0, x1, left, right), y = linear(y0, y1, bottom, yTop);
  if (charts.budget && charts.budget < y1) root.appendChild(svg("rect", { x: left, y: yTop, width: right - left, height: y(charts.budget) - yTop, fill: "var(--shade)" }));
  if (charts.deadline && charts.deadline < x1) root.appendChild(svg("rect", { x: x(charts.deadline), y: yTop, width: right - x(charts.deadline), height: bottom - yTop, fill: "var(--shade)" }));
  moneyAxis(root, y, y0, y1, left, right, charts.currency);
  timeAxis(root, x, x0, x1, { top: yTop, bottom }, 4);
  const put = labeller(root, left, right, yTop, bottom);
  if (charts.budget && charts.budget < y1) { line(root, left, y(charts.budget), right, y(charts.budget), "var(--ink)", { "stroke-width": 1.5 }); put([[left + 4, y(charts.budget) - 5, "start"], [right - 4, y(charts.budget) - 5, "end"]], "budget " + charts.budget_text, "ink"); }
  if (charts.deadline && charts.deadline < x1) { line(root, x(charts.deadline), yTop, x(charts.deadline), bottom, "var(--ink)", { "stroke-width": 1.5 }); put([[x(charts.deadline) - 4, bottom - 5, "end"], [x(charts.deadline) - 4, yTop + 12, "end"]], "deadline " + duration(charts.deadline), "ink"); }
  // A limit that is far away is told at the edge.
  if (charts.budget && charts.budget >= y1) put([[left + 4, yTop + 10, "start"]], "↑ budget " + charts.budget_text, "");
  if (charts.deadline && charts.deadline >= x1) put([[right, bottom - 5, "end"], [right, yTop + 10, "end"]], "deadline " + duration(charts.deadline) + " →", "");
  const marks = plans.map((one) => [x(one.end), y(one.cost)]);
  if (actual) marks.push([x(actual.t), y(actual.m)]);
  if (ahead) marks.push([x(ahead.end[1]), y(ahead.cost[1])]);
  for (const [px, py] of marks) put.keep(px - 6, py - 6, px + 6, py + 6);
  for (const one of plans.filter((plan) => plan.chosen)) {
    line(root, x(one.end), y(one.cost), x(one.end_upper), y(one.cost), "var(--ink3)", { "stroke-width": 2 });
    line(root, x(one.end), y(one.cost), x(one.end), y(one.cost_upper), "var(--ink3)", { "stroke-width": 2 });
    const dot = svg("circle", { cx: x(one.end), cy: y(one.cost), r: 5, fill: "var(--ink)" });
    dot.appendChild(svg("title", {}, `${one.name}: ${one.fleet}, ${duration(one.end)}, ${money(one.cost, charts.currency)}`));
    root.appendChild(dot);
  }
  if (path.length > 1) root.appendChild(svg("path", { d: path.map((one, n) => (n ? "L" : "M") + x(one.end[1]).toFixed(1) + " " + y(one.cost[1]).toFixed(1)).join(""), fill: "none", stroke: "var(--running)", "stroke-opacity": 0.55 }));
  const diamond = (t, m, fill, text, className) => {
    root.appendChild(svg("path", { d: `M${x(t)} ${y(m) - 6}l6 6l-6 6l-6 -6z`, fill }));
    put.beside(x(t), y(m), text, className);
  };
  if (ahead) {
    root.appendChild(svg("rect", { x: x(ahead.end[0]), y: y(ahead.cost[2]), width: Math.max(1, x(ahead.end[2]) - x(ahead.end[0])), height: Math.max(1, y(ahead.cost[0]) - y(ahead.cost[2])), fill: "var(--fan)" }));
    diamond(ahead.end[1], ahead.cost[1], "var(--running)", "heading here", "blue");
  } else if (actual) diamond(actual.t, actual.m, "var(--useful)", "ended here", "green");
  for (const one of plans.filter((plan) => plan.chosen)) put.beside(x(one.end), y(one.cost), "chosen: " + one.name, "ink");
  for (const one of plans.filter((plan) => !plan.chosen)) {
    const dot = svg("circle", { cx: x(one.end), cy: y(one.cost), r: 4, fill: "none", stroke: "var(--plan)", "stroke-width": 1.5 });
    dot.appendChild(svg("title", {}, `${one.name}: ${one.fleet}, ${duration(one.end)}, ${money(one.cost, charts.currency)}`));
    root.appendChild(dot);
    if (/cheapest|fastest|knee/.test(one.name)) put.beside(x(one.end), y(one.cost), one.name, "");
  }
}
// Puts labels where none is yet: the first of some places that is free, or none at all.
function labeller(root, left, right, top, bottom) {
  const kept = [], free = (box) => box[0] >= left - 2 && box[2] <= right + 6 && box[1] >= top - 8 && box[3] <= bottom + 4 && !kept.some((one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1]);
  const put = (places, text, className) => {
    for (const [px, py, anchor] of places) {
      const wide = 6.4 * text.length, from = anchor === "end" ? px - wide : px, box = [from, py - 10, from + wide, py + 3];
      if (!free(box)) continue;
      kept.push(box); label(root, px, py, text, className, anchor); return;
    }
  };
  put.keep = (...box) => kept.push(box);
  put.beside = (px, py, text, className) => put([[px + 9, py + 4, "start"], [px - 9, py + 4, "end"], [px + 7, py + 18, "start"], [px - 7, py + 18, "end"], [px + 7, py - 9, "start"], [px - 7, py - 9, "end"], [px + 2, py + 32, "start"], [px - 2, py + 32, "end"], [px, py - 24, "start"], [px, py - 24, "end"]], text, className);
  return put;
}

function drawMoney(box, data) {
  const { charts, forecast } = data, ahead = forecast.now, plan = charts.plans.find((one) => one.chosen);
  if (!Math.max(...charts.money.v)) { emptyState(box, data.tiles[1].value === "free" ? "Free of charge." : "Nothing is committed yet."); return; }
  const end = span(charts, ahead), last = charts.money.v[charts.money.v.length - 1];
  let high = Math.max(...charts.money.v, ahead ? ahead.cost[2] : 0, plan ? plan.cost_upper : 0);
  const showBudget = charts.budget && charts.budget < 5 * high;
  if (showBudget) high = Math.max(high, charts.budget);
  high = high * 1.08;
  const { root, width, height } = canvasFor(box, `Money committed over time: ${data.tiles[1].value} ${data.tiles[1].unit}`);
  const left = 56, right = width - 8, top = 10, bottom = height - 22;
  const x = timeScale(0, end, left, right, charts.pauses), y = linear(0, high, bottom, top);
  if (showBudget) root.appendChild(svg("rect", { x: left, y: top, width: right - left, height: Math.max(0, y(charts.budget) - top), fill: "var(--shade)" }));
  moneyAxis(root, y, 0, high, left, right, charts.currency);
  timeAxis(root, x, 0, end, { top, bottom }, 5);
  pauseMarks(root, x, top, bottom);
  if (showBudget) { line(root, left, y(charts.budget), right, y(charts.budget), "var(--ink)", { "stroke-width": 1.5 }); limitLabel(root, left + 4, y(charts.budget) + 14, "budget " + charts.budget_text); }
  if (plan) {
    const before = valueAt(charts.money, charts.begun), from = [x(charts.begun), y(before)];
    const clipX = (t) => x(Math.min(t, end));
    root.appendChild(svg("path", { d: `M${from}L${clipX(plan.end)} ${y(plan.cost_upper)}L${clipX(plan.end_upper)} ${y(plan.cost)}Z`, fill: "var(--shade)" }));
    root.appendChild(svg("path", { d: `M${from}L${clipX(plan.end)} ${y(plan.cost)}`, stroke: "var(--plan)", fill: "none", "stroke-dasharray": "1.5 3", "stroke-width": 2 }));
    label(root, Math.min(right - 26, (from[0] + clipX(plan.end)) / 2 + 8), (from[1] + y(plan.cost)) / 2 + 14, "plan");
  }
  root.appendChild(svg("path", { d: stepPath(charts.money.t, charts.money.v, x, y, charts.now), fill: "none", stroke: "var(--ink)", "stroke-width": 2 }));
  if (ahead) fan(root, x, y, charts.now, last, ahead.end, ahead.cost);
  nowLine(root, x, charts, top, bottom, data.live);
  deadlineLine(root, x, charts, end, top, bottom);
  hover(root, x, left, right, top, bottom, (t) => t > charts.now ? "" : `${moment(t)}: ${money(valueAt(charts.money, t), charts.currency)} committed`);
}
// From now to where the run may end: the band has all from P10 to P90 of both end and value, the dashes lead to P50.
function fan(root, x, y, now, value, ends, values) {
  root.appendChild(svg("path", { class: "fan", d: `M${x(now)} ${y(value)}L${x(ends[0])} ${y(values[2])}L${x(ends[2])} ${y(values[2])}L${x(ends[2])} ${y(values[0])}Z`, fill: "var(--fan)" }));
  root.appendChild(svg("path", { d: `M${x(now)} ${y(value)}L${x(ends[1])} ${y(values[1])}`, stroke: "var(--running)", "stroke-width": 2, "stroke-dasharray": "6 4", fill: "none" }));
  root.appendChild(svg("circle", { cx: x(ends[1]), cy: y(values[1]), r: 3.5, fill: "var(--running)" }));
}
function nowLine(root, x, charts, top, bottom, live) { if (live) line(root, x(charts.now), top, x(charts.now), bottom, "var(--ink3)"); }
function deadlineLine(root, x, charts, end, top, bottom) {
  if (!charts.deadline || charts.deadline > end) return;
  line(root, x(charts.deadline), top, x(charts.deadline), bottom, "var(--ink)", { "stroke-width": 1.5 });
  label(root, x(charts.deadline) - 4, bottom - 5, "deadline " + duration(charts.deadline), "ink", "end");
}

function drawTasks(box, data) {
  const { charts, forecast } = data, ahead = forecast.now, plan = charts.plans.find((one) => one.chosen);
  if (!charts.total) { emptyState(box, "No task has come yet.", ...howToBegin(data)); return; }
  const end = span(charts, ahead);
  const { root, width, height } = canvasFor(box, `Tasks over time: ${data.tiles[0].value} ${data.tiles[0].unit} done`);
  const left = 44, right = width - 8, top = 10, middle = height - 78, upper = height - 56, bottom = height - 22;
  const x = timeScale(0, end, left, right, charts.pauses), high = charts.total * 1.06, y = linear(0, high, middle, top);
  const step = Math.max(1, niceStep(high, 3));
  for (const value of ticks(0, high, step)) { line(root, left, y(value), right, y(value), "var(--grid)"); label(root, left - 6, y(value) + 4, value >= 10000 ? fixed(value / 1000, 0) + "k" : fixed(value, 0), "", "end"); }
  timeAxis(root, x, 0, end, { top, bottom }, 5);
  pauseMarks(root, x, top, bottom);
  line(root, left, y(charts.total), right, y(charts.total), "var(--ink3)");
  label(root, left + 4, y(charts.total) + 13, fixed(charts.total, 0) + (charts.total === 1 ? " task" : " tasks"));
  if (plan) root.appendChild(svg("path", { d: `M${x(charts.begun)} ${y(valueAt(charts.done, charts.begun))}L${x(Math.min(plan.end, end))} ${y(charts.total)}`, stroke: "var(--plan)", "stroke-dasharray": "1.5 3", "stroke-width": 2, fill: "none" }));
  root.appendChild(svg("path", { d: stepPath(charts.done.t, charts.done.v, x, y, charts.now), fill: "none", stroke: "var(--useful)", "stroke-width": 2 }));
  const failures = charts.failed.t.slice(1);
  for (const t of failures.slice(-60)) label(root, x(t), top + 3, "×", "red", "middle");
  if (charts.tail !== null && charts.tail !== undefined) { line(root, x(charts.tail), top, x(charts.tail), middle, "var(--off)", { "stroke-dasharray": "3 2" }); label(root, x(charts.tail) - 3, top + 38, "tail", "amber", "end"); }
  if (ahead) fan(root, x, y, charts.now, charts.done.v[charts.done.v.length - 1], ahead.end, [charts.total, charts.total, charts.total]);
  nowLine(root, x, charts, top, bottom, data.live);
  deadlineLine(root, x, charts, end, top, middle);
  const most = Math.max(1, ...charts.fleet.v, ...charts.running.v), z = linear(0, most, bottom, upper);
  root.appendChild(svg("path", { d: stepPath(charts.fleet.t, charts.fleet.v, x, z, charts.now) + `V${bottom}H${x(0)}Z`, fill: "var(--shade)" }));
  root.appendChild(svg("path", { d: stepPath(charts.running.t, charts.running.v, x, z, charts.now), fill: "none", stroke: "var(--running)", "stroke-width": 1.5 }));
  label(root, left - 6, upper + 6, fixed(most, 0), "", "end"); label(root, left - 6, bottom + 2, "0", "", "end");
  hover(root, x, left, right, top, bottom, (t) => t > charts.now ? "" : `${moment(t)}: ${fixed(valueAt(charts.done, t), 0)} done, ${fixed(valueAt(charts.running, t), 0)} running on ${fixed(valueAt(charts.fleet, t), 0)} machines`);
}

function drawSupply(box, data) {
  const { charts } = data, { demand, supply } = charts;
  if (!Math.max(...demand.v, ...supply.v)) { emptyState(box, "No task has come yet.", ...howToBegin(data)); return; }
  const end = Math.max(charts.now, 0.001), most = Math.max(1, ...supply.v), wanted = Math.max(...demand.v);
  const high = Math.min(Math.max(wanted, most), 4 * most) * 1.08, cut = wanted > high;
  const { root, width, height } = canvasFor(box, `Supply and demand in slots: now ${demand.v[demand.v.length - 1]} wanted, ${supply.v[supply.v.length - 1]} up`);
  const left = 44, right = width - 8, top = 10, bottom = height - 22;
  const x = timeScale(0, end, left, right, charts.pauses), y = linear(0, high, bottom, top), capped = (v) => y(Math.min(v, high));
  for (const value of ticks(0, high, Math.max(1, niceStep(high, 4)))) { line(root, left, y(value), right, y(value), "var(--grid)"); label(root, left - 6, y(value) + 4, fixed(value, 0), "", "end"); }
  timeAxis(root, x, 0, end, { top, bottom }, Math.max(3, Math.floor(width / 140)));
  const moments = [...new Set([...demand.t, ...supply.t])].sort((a, b) => a - b);
  let lacking = "", spare = "";  // one path each, however many steps there are
  moments.forEach((from, n) => {
    const to = n + 1 < moments.length ? moments[n + 1] : end, wants = valueAt(demand, from), has = valueAt(supply, from);
    if (wants === has || to <= from) return;
    const part = `M${x(from).toFixed(1)} ${capped(wants).toFixed(1)}H${(x(to) + 0.2).toFixed(1)}V${capped(has).toFixed(1)}H${x(from).toFixed(1)}Z`;
    if (wants > has) lacking += part; else spare += part;
  });
  add(root, svg("path", { class: "lacking", d: lacking, fill: "var(--warn-bg)" }), svg("path", { d: spare, fill: "var(--shade)" }));
  root.appendChild(svg("path", { d: stepPath(demand.t, demand.v, x, capped, end), fill: "none", stroke: "var(--off)", "stroke-width": 1.5, "stroke-dasharray": "5 2" }));
  root.appendChild(svg("path", { d: stepPath(supply.t, supply.v, x, capped, end), fill: "none", stroke: "var(--ink)", "stroke-width": 2 }));
  setText(byId("supply-sub"), cut ? `slots; demand was up to ${fixed(wanted, 0)}` : "slots");
  pauseMarks(root, x, top, bottom);
  nowLine(root, x, charts, top, bottom, data.live);
  hover(root, x, left, right, top, bottom, (t) => t > charts.now ? "" : `${moment(t)}: ${fixed(valueAt(demand, t), 0)} slots wanted, ${fixed(valueAt(supply, t), 0)} up`);
}

function drawFleet(box, data) {
  const { charts } = data, rows = charts.fleets.slice(0, 8);
  if (!rows.length) { emptyState(box, "No machine has been rented yet."); return; }
  const { root, width, height } = canvasFor(box, "Machines of each offer over time: " + rows.map((one) => `${one.offer}, at most ${one.most}`).join("; "));
  const end = Math.max(charts.now, 0.001), left = Math.min(0.34 * width, 34 + 6.3 * Math.max(...rows.map((one) => one.offer.length))), right = width - 8, bottom = height - 22;
  const x = timeScale(0, end, left, right, charts.pauses), room = (bottom - 6) / rows.length;
  timeAxis(root, x, 0, end, { top: 6, bottom }, Math.max(3, Math.floor(width / 120)));
  rows.forEach((one, row) => {
    const base = 6 + room * (row + 1) - 2, tall = Math.max(4, Math.min(120, room - 14)), y = linear(0, one.most, base, base - tall), drawn = stepPath(one.steps.t, one.steps.v, x, y, end);
    root.appendChild(svg("path", { d: drawn + `V${base}H${x(0)}Z`, fill: "var(--shade)" }));
    root.appendChild(svg("path", { d: drawn, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5 }));
    line(root, left, base, right, base, "var(--line)");
    label(root, left - 26, base - tall / 2 + 4, squeezed(one.offer, Math.floor((left - 30) / 6)), "", "end");
    label(root, left - 4, base - tall + 8, fixed(one.most, 0), "", "end");
  });
  pauseMarks(root, x, 6, bottom);
  nowLine(root, x, charts, 6, bottom, data.live);
  hover(root, x, left, right, 6, bottom, (t) => t > charts.now ? "" : `${moment(t)}: ` + rows.map((one) => `${fixed(valueAt(one.steps, t), 0)} ${one.offer}`).join(", "));
}

function drawForecasts(box, data) {
  const { charts, forecast } = data, path = forecast.now ? [...forecast.history, forecast.now] : forecast.history;
  if (path.length < 2) { emptyState(box, "Too few forecasts to compare.", data.live ? "They are made from the third second on, when a third of what began is done." : "The run was too short for them, or nothing was done."); return; }
  const plan = charts.plans.find((one) => one.chosen), ended = !data.live;
  const { root, width, height } = canvasFor(box, "Forecasts of end and cost over time, with P10 to P90. " + forecast.text);
  const left = 56, right = width - 8, t0 = path[0].at, t1 = Math.max(path[path.length - 1].at, t0 + 1e-6);
  const x = timeScale(t0, t1, left, right, charts.pauses), half = (height - 34) / 2;
  const rows = [["end", 8, half, (v, s, high) => timeTick(v, high), plan && plan.end, ended && charts.done.t[charts.done.t.length - 1]],
    ["cost", half + 14, height - 20, (v, s) => moneyTick(v, s, charts.currency), plan && plan.cost, ended && charts.money.v[charts.money.v.length - 1]]];
  timeAxis(root, x, t0, t1, { top: 8, bottom: height - 20 }, 6);
  for (const [field, top, bottom, tick, planned, actual] of rows) {
    const values = path.flatMap((one) => one[field]);
    if (planned) values.push(planned); if (actual) values.push(actual);
    let low = Math.min(...values), high = Math.max(...values);
    const pad = (high - low) * 0.15 || high * 0.1 || 1; low = Math.max(0, low - pad); high += pad;
    const y = linear(low, high, bottom, top), step = field === "end" ? timeStep(high - low, 3, high) : niceStep(high - low, 3);
    for (const value of ticks(low, high, step)) { line(root, left, y(value), right, y(value), "var(--grid)"); label(root, left - 6, y(value) + 4, tick(value, step, high), "", "end"); }
    const upper = path.map((one) => [x(one.at), y(one[field][2])]), lower = path.map((one) => [x(one.at), y(one[field][0])]).reverse();
    root.appendChild(svg("path", { d: "M" + [...upper, ...lower].map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L") + "Z", fill: "var(--fan)" }));
    root.appendChild(svg("path", { d: "M" + path.map((one) => x(one.at).toFixed(1) + " " + y(one[field][1]).toFixed(1)).join("L"), fill: "none", stroke: "var(--running)", "stroke-width": 2 }));
    if (planned) { line(root, left, y(planned), right, y(planned), "var(--plan)", { "stroke-dasharray": "1.5 3", "stroke-width": 2 }); label(root, (left + right) / 2, y(planned) - 4, "plan P50", "", "middle"); }
    if (actual) { line(root, left, y(actual), right, y(actual), "var(--ink)", { "stroke-width": 1.5 }); label(root, right, y(actual) - 4, field === "end" ? "ended " + duration(actual) : "cost " + money(actual, charts.currency), "ink", "end"); }
  }
  hover(root, x, left, right, 8, height - 20, (t) => {
    const one = path.reduce((best, other) => other.at <= t ? other : best, path[0]);
    return `at ${moment(one.at)}: ends at ${moment(one.end[1])} (${moment(one.end[0])} – ${moment(one.end[2])})\ncosts ${money(one.cost[1], charts.currency)} (${money(one.cost[0], charts.currency)} – ${money(one.cost[2], charts.currency)})`;
  });
}

function drawRunTimes(box, data) {
  const rows = data.runtimes;
  if (!rows.length) { emptyState(box, data.live ? "No task is done yet." : "No task was done."); return; }
  const tops = rows.map((one) => Math.max(one.p90 || 0, one.believed ? one.believed[2] : 0));
  const all = rows.flatMap((one) => one.dots).sort((a, b) => a - b);
  const high = Math.max(...tops, all.length ? all[Math.floor(0.985 * (all.length - 1))] : 0) * 1.12 || 1;
  const { root, width, height } = canvasFor(box, "Run times per offer: " + rows.map((one) => one.offer + ", " + one.text).join("; "));
  const left = Math.min(0.3 * width, 14 + 6.3 * Math.max(...rows.map((one) => one.offer.length))), right = width - 12, bottom = height - 20;
  const x = linear(0, high, left, right); x.active = high;
  timeAxis(root, x, 0, high, { top: 4, bottom }, 6);
  const room = (bottom - 4) / rows.length;
  let beyond = 0;
  rows.forEach((one, row) => {
    const middle = 4 + room * (row + 0.5), half = Math.min(18, room * 0.36);
    label(root, left - 6, middle + 4, squeezed(one.offer, Math.floor((left - 8) / 6)), "", "end");
    if (one.believed) {
      root.appendChild(svg("rect", { x: x(one.believed[0]), y: middle - half, width: Math.max(1, x(Math.min(high, one.believed[2])) - x(one.believed[0])), height: 2 * half, fill: "var(--shade)" }));
      line(root, x(one.believed[1]), middle - half, x(one.believed[1]), middle + half, "var(--plan)", { "stroke-dasharray": "1.5 3", "stroke-width": 2 });
    }
    const layers = ["", "", "", ""];  // dots that lie on one another are darker, with four elements in place of hundreds
    one.dots.forEach((value, n) => {
      if (value > high) { beyond += 1; return; }
      const jitter = ((n * 7919) % 97) / 97 - 0.5;
      layers[n % 4] += `M${x(value).toFixed(1)} ${(middle + jitter * 1.6 * half).toFixed(1)}h0`;
    });
    for (const d of layers) if (d) root.appendChild(svg("path", { class: "dots", d, stroke: "var(--useful)", "stroke-opacity": 0.5, "stroke-width": 3.6, "stroke-linecap": "round" }));
    if (one.p50 !== null) line(root, x(one.p50), middle - half - 3, x(one.p50), middle + half + 3, "var(--ink)", { "stroke-width": 2 });
  });
  if (beyond) label(root, right, bottom - 4, fixed(beyond, 0) + " longer →", "", "end");
}
