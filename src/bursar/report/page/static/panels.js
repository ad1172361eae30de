// Panels of text: verdict, tiles, money, failures, why, longest, offers, graph, about.
// Figures change all the time; only another verdict is worth interrupting somebody who listens.
function announce(verdict, live) {
  const word = verdict.text.split(":")[0], said = byId("announced");
  if (!said || said.dataset.word === word) return;
  const isFirst = said.dataset.word === undefined;
  said.dataset.word = word;
  if (!isFirst || live) setText(said, verdict.text);
}
const ICONS = { good: "✓", warn: "!", bad: "×", wait: "…" };
function showVerdict(data) {
  const icon = byId("icon");
  if (!icon) return;
  announce(data.verdict, data.live);
  icon.className = "icon " + data.verdict.tone; setText(icon, ICONS[data.verdict.tone]);
  for (const [id, text] of [["verdict", data.verdict.text], ["verdict-more", data.verdict.more || "\u00a0"]]) { setText(byId(id), text); byId(id).title = text.trim(); }
}
function showTiles(data) {
  for (const one of data.tiles) {
    const tile = byId("tile-" + one.id);
    if (!tile) continue;
    setText(tile.querySelector(".label"), one.label); setText(tile.querySelector(".number"), one.value);
    setText(tile.querySelector(".unit"), one.unit || ""); setText(tile.querySelector(".alert"), one.alert || "");
    setText(tile.querySelector(".rest"), one.more || "");
    if (one.exact) tile.title = one.exact;
    const track = tile.querySelector(".track"), bar = one.bar || {}, names = Object.keys(bar);
    track.className = names.length ? "track on" : "track";
    while (track.children.length > names.length) track.removeChild(track.lastChild);
    names.forEach((name, n) => {
      const part = track.children[n] || track.appendChild(el("i"));
      if (part.className !== name) part.className = name;
      part.style.width = (100 * bar[name]).toFixed(2) + "%";
    });
  }
}
// A panel that there was no reason for at first comes below all others: nothing that is being read moves.
function reveal(panel, wanted) {
  const comes = wanted && panel.classList.contains("gone");
  if (comes && page.drawn && document.body.classList.contains("live")) panel.classList.add("late");
  panel.classList.toggle("gone", !wanted);
}
function bar(parts) {
  const made = el("div", "split");
  parts.forEach((part, n) => { if (part <= 0) return; const one = el("i", USES[n]); one.style.width = (100 * part).toFixed(3) + "%"; one.title = WORDS[USES[n]]; made.appendChild(one); });
  return made;
}
function showKey(data) {
  const key = clear(byId("machines-key"));
  for (const part of data.money.parts) { const item = el("span"); add(item, el("i", part.use), words(part.word)); key.appendChild(item); }
  const machines = data.machines, lost = machines.lost ? `, ${fixed(machines.lost, 0)} lost` : "";
  const seats = machines.raster ? `, in ${fixed(machines.raster.offers.reduce((sum, one) => sum + one[1], 0), 0)} seats; one line is one seat, above is their sum` : "";
  setText(byId("machines-sub"), machines.rented ? `${fixed(machines.rented, 0)} rented${lost}${seats}` : "");
}
function showMoney(data) {
  const box = clear(byId("money-split")), split = data.money;
  setText(byId("money-sub"), split.exact === "0.00" ? "" : split.total + ", all of it"); setText(byId("money-end"), split.not_included);
  if (split.exact === "0.00") { emptyState(box, data.tiles[1].value === "free" ? "Nothing here costs money." : "No money is committed yet."); return; }
  const whole = bar(split.parts.map((part) => part.share)); whole.setAttribute("aria-hidden", "true");
  const amounts = el("div", "amounts");
  for (const part of split.parts) {
    const item = el("div", part.share ? "" : "none"), word = el("span");
    item.dataset.use = part.use; item.dataset.exact = part.exact; item.title = `${part.word}: ${part.text}`;
    add(word, el("i", part.use), words(part.word));
    amounts.appendChild(add(item, el("b", "", part.text), word, el("span", "", part.share_text)));
  }
  const offers = el("div", "offerbars"), most = Math.max(...split.offers.map((one) => one.parts.reduce((a, b) => a + b, 0)));
  for (const one of split.offers.slice(0, 6)) add(offers, el("span", "", one.offer), bar(one.parts.map((part) => part / most)), el("span", "", one.text));
  add(box, whole, amounts, split.offers.length ? offers : null);
}
function showFailures(data) {
  const list = byId("failures-list"), failures = data.failures;
  const opened = new Set([...list.querySelectorAll("details[open]")].map((one) => one.dataset.line)), box = clear(list);
  setText(byId("failures-end"), failures.total ? `${fixed(failures.total, 0)} ${failures.total === 1 ? "task" : "tasks"} in ${failures.groups.length} ${failures.groups.length === 1 ? "group" : "groups"}` : "");
  if (!failures.total) {
    emptyState(box, "No task failed for good.", failures.tries ? `${fixed(failures.tries, 0)} ${failures.tries === 1 ? "try" : "tries"} failed, and the tasks were tried again.` : ""); return;
  }
  for (const group of failures.groups) {
    const item = el("div", "fail"), text = el("div");
    add(text, el("div", "mono", group.line), el("div", "note", [group.code, (group.tasks.length === 1 ? "task " : "tasks ") + group.tasks.slice(0, 6).join(", ") + (group.count > 6 ? ", …" : "")].filter(Boolean).join(" · ")));
    if (group.command || group.stderr) {
      const details = el("details"); details.dataset.line = group.line; details.open = opened.has(group.line);
      add(details, el("summary", "", "end of stderr of task " + group.tasks[0]), el("pre", "", group.command + "\n\n" + (group.stderr || "no output")));
      details.querySelector("pre").tabIndex = 0;
      text.appendChild(details);
    }
    box.appendChild(add(item, el("div", "n", `${fixed(group.count, 0)} ${group.count === 1 ? "task" : "tasks"}`), text));
  }
  if (failures.retry) { add(box, command(`bursar resume ${failures.retry} --retry-failed`), el("p", "note", (data.live ? "When the run has ended. " : "") + "What is done stays done; the budget stays.")); }
  else if (data.about.accounts.length) box.appendChild(el("p", "note", "Their users can submit them again."));
}
const chosen = { kind: "", text: "" };
function showWhy(data) {
  const why = data.why, chips = byId("why-chips"), counts = {};
  setText(byId("why-sub"), `${fixed(why.total, 0)} ${why.total === 1 ? "decision" : "decisions"} in ${why.groups.length} ${why.groups.length === 1 ? "group" : "groups"}`);
  for (const group of why.groups) counts[group.kind] = (counts[group.kind] || 0) + group.count;
  const wanted = Object.keys(counts).join();
  if (chips.dataset.kinds !== wanted) {
    clear(chips); chips.dataset.kinds = wanted;
    for (const kind in counts) {
      const chip = el("button", "", ""); chip.type = "button"; chip.dataset.kind = kind; chip.setAttribute("aria-pressed", String(chosen.kind === kind));
      chip.addEventListener("click", () => { chosen.kind = chosen.kind === kind ? "" : kind; for (const one of chips.children) one.setAttribute("aria-pressed", String(one.dataset.kind === chosen.kind)); listWhy(page.data); });
      chips.appendChild(chip);
    }
  }
  for (const chip of chips.children) setText(chip, chip.dataset.kind + " " + fixed(counts[chip.dataset.kind] || 0, 0));
  listWhy(data);
}
const KIND_TONE = { rent: "running", lost: "lost", release: "idle", replica: "off", cancel: "off", refused: "failed", plan: "useful" };
function listWhy(data) {
  const box = clear(byId("why-list")), text = chosen.text.toLowerCase();
  const shown = data.why.groups.filter((one) => (!chosen.kind || one.kind === chosen.kind) && (!text || (one.what + " " + one.why).toLowerCase().includes(text)));
  if (!shown.length) { emptyState(box, data.why.groups.length ? "No decision matches." : "Nothing has been decided yet."); box.className = ""; return; }
  box.className = "whys";
  for (const group of shown) {
    const strip = el("div", "strip"), drawing = svg("svg", { viewBox: "0 0 60 22", "aria-hidden": "true", preserveAspectRatio: "none" }), most = Math.max(1, ...group.strip);
    drawing.appendChild(svg("path", { d: "M0 21.5H60", stroke: "var(--line)" }));
    group.strip.forEach((count, n) => { if (count) { const tall = 3 + 17 * count / most; drawing.appendChild(svg("rect", { x: n, y: 21 - tall, width: 1.2, height: tall, fill: "var(--" + (KIND_TONE[group.kind] || "ink") + ")" })); } });
    add(box, el("div", "t", group.first === group.last ? group.last : `${group.first} –\u2060${group.last}`), add(strip, drawing), el("b", "", group.what), el("div", "w", group.why || "\u00a0"));
  }
}
function showLongest(data) {
  const box = clear(byId("longest-list")), longest = data.longest;
  setText(byId("longest-title"), longest.title); setText(byId("longest-sub"), longest.title.startsWith("Running") ? "against what such tasks took" : "attempts that counted");
  if (!longest.rows.length) { emptyState(box, data.live ? "No task is running." : "No task was done."); return; }
  const table = el("table"), body = el("tbody"), high = Math.max(...longest.rows.map((one) => Math.max(one.age, (one.p90 || 0) * 1.1)));
  const head = el("tr"); for (const [name, side] of [["task", ""], ["machine", ""], ["with P50 | and P90 ‖", ""], [data.live ? "age" : "took", "r"]]) { const th = el("th", side, name); th.scope = "col"; head.appendChild(th); }
  for (const one of longest.rows) {
    const row = el("tr"), task = el("td", "", one.task), cell = el("td"), late = one.p90 !== null && one.age > one.p90;
    if (one.copies > 1) task.appendChild(el("span", "", " ×" + one.copies));
    const drawing = svg("svg", { class: "age", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }), k = 100 / high;
    drawing.appendChild(svg("rect", { x: 0, y: 3, width: (one.age * k).toFixed(2), height: 6, fill: `var(--${late ? "off" : data.live ? "running" : "useful"})` }));
    if (one.p50 !== null) drawing.appendChild(svg("rect", { x: (one.p50 * k).toFixed(2), y: 0, width: 0.6, height: 12, fill: "var(--ink)" }));
    if (one.p90 !== null) for (const off of [0, 1.1]) drawing.appendChild(svg("rect", { x: (one.p90 * k + off).toFixed(2), y: 0, width: 0.5, height: 12, fill: "var(--ink)" }));
    cell.style.width = "46%"; cell.appendChild(drawing);
    const age = el("td", "r", one.text); if (late) age.title = "longer than nine in ten";
    body.appendChild(add(row, task, el("td", "", one.machine), cell, age));
  }
  add(box, add(table, add(el("thead"), head), body));
}
function table(columns, rows) {
  const made = el("table"), head = el("tr"), body = el("tbody");
  for (const [name, side] of columns) { const th = el("th", side, name); th.scope = "col"; head.appendChild(th); }
  for (const row of rows) { const line2 = el("tr"); row.forEach((text, n) => line2.appendChild(el("td", columns[n][1], text))); body.appendChild(line2); }
  return add(made, add(el("thead"), head), body);
}
function showOffers(data) {
  const columns = [["offer", ""], ["", ""], ["price", "r"], ["machines up", "r"], ["machines rented", "r"], ["machines lost", "r"], ["run time P50", "r"], ["useful attempts", "r"], ["other attempts", "r"], ["money", "r"], ["a useful task", "r"]];
  add(clear(byId("offers-table")), table(columns, data.offers.map((one) => [one.offer, one.pool, one.price, one.up, one.rented, one.lost, one.p50, one.useful, one.others, one.money, one.each])));
  setText(byId("offers-end"), data.about.prices);
  const plan = byId("promise"), users = byId("accounts");
  reveal(byId("promise-panel"), data.about.promises.length > 0);
  if (data.about.promises.length) add(clear(plan), table([["", ""], ["predicted P50", "r"], ["at most", "r"], ["actual", "r"], ["promise", "r"]], data.about.promises.map((one) => [one.what, one.predicted, one.at_most, one.actual, one.kept === null ? "–" : one.kept ? "kept" : "broken"])));
  reveal(byId("accounts-panel"), data.about.accounts.length > 0);
  if (data.about.accounts.length) showUsers(clear(users), data.about.accounts);
}
function showUsers(box, rows) {
  const made = table([["user", ""], ["of the budget", ""], ["spent when", ""], ["committed", "r"], ["budget", "r"], ["in all", "r"], ["machines", "r"], ["demand, slots", "r"], ["supply, slots", "r"], ["lacking, slots", "r"]],
    rows.map((one) => [one.account, "", "", one.committed, one.budget, one.total, fixed(one.machines, 0), fixed(one.demand, 0), fixed(one.supply, 0), one.demand > one.supply ? fixed(one.demand - one.supply, 0) : "–"]));
  [...made.querySelectorAll("tbody tr")].forEach((line2, n) => { if (rows[n].share !== null) line2.children[1].appendChild(meter({ ink: rows[n].share })); line2.children[2].appendChild(spentStrip(rows[n].spent)); });
  box.appendChild(made);
}
function spentStrip(parts) {
  const drawing = svg("svg", { class: "spent", viewBox: `0 0 ${parts.length} 20`, "aria-hidden": "true", preserveAspectRatio: "none" });
  drawing.appendChild(svg("path", { d: `M0 19.5H${parts.length}`, stroke: "var(--line)" }));
  parts.forEach((part, n) => { if (part > 0) { const tall = Math.max(1, 18 * part); drawing.appendChild(svg("rect", { x: n, y: (19 - tall).toFixed(1), width: 0.9, height: tall.toFixed(1), fill: "var(--ink2)" })); } });
  return drawing;
}
function showLedger(data) {
  const ledger = data.ledger, several = ledger.rows.some((one) => one.account);
  setText(byId("ledger-sub"), ledger.rows.length ? "the latest first" : ""); setText(byId("ledger-end"), ledger.rows.length ? ledger.total + " committed" : "");
  if (!ledger.rows.length) { emptyState(byId("ledger-table"), "No machine has been rented yet."); return; }
  const columns = [["machine", ""], ["user", ""], ["state", ""], ["rented at", "r"], ["booted in", "r"], ["stayed", "r"], ["attempts", "r"], ["useful attempts", "r"], ["charged", "r"], ["at", "r"], ["amount", "r"]];
  const rows = ledger.rows.map((one) => [one.machine, one.account, one.state, one.rented, one.booted, one.stayed, one.attempts, one.useful, one.units, one.price, one.amount]);
  const kept = columns.map((_, n) => n).filter((n) => several || n !== 1);
  add(clear(byId("ledger-table")), table(kept.map((n) => columns[n]), rows.map((row) => kept.map((n) => row[n]))), ledger.before ? el("p", "note", ledger.before) : null);
}
function showRunTimesTold(data) {
  const box = clear(byId("runtimes-text"));
  data.runtimes.slice(0, 5).forEach((one, n) => { if (n) box.appendChild(words(" · ")); add(box, el("b", "", one.offer), words(": " + one.text)); });
}
const NODE_TONE = { done: "useful", failed: "failed", blocked: "failed", running: "running", cancelled: "idle", ready: "idle", waiting: "idle" };
// Of several workflows one is shown: the one that somebody chose, or the first that is not done.
const shownGraph = { work: null };
function chosenGraph(graphs) {
  const isDone = (one) => (one.states.done || 0) === one.tasks;
  const found = graphs.find((one) => one.work === shownGraph.work) || graphs.find((one) => !isDone(one)) || graphs[graphs.length - 1];
  if (found) shownGraph.work = found.work;
  const menu = byId("workflow-menu"), wanted = JSON.stringify(graphs.map((one) => [one.work, one.name]));
  menu.classList.toggle("gone", graphs.length < 2);
  if (menu.dataset.has !== wanted) {
    clear(menu); menu.dataset.has = wanted;
    for (const one of graphs) { const item = el("option", "", `${one.work}: ${one.name}`); item.value = String(one.work); menu.appendChild(item); }
  }
  if (found) menu.value = String(found.work);
  return found;
}
function drawGraph(data) {
  const graph = chosenGraph(data.graphs);
  reveal(byId("workflow"), Boolean(graph));
  if (!graph) return;
  const box = byId("workflow-graph"), tall = Math.max(90, Math.min(640, graph.widest * 22 + 20));
  box.style.height = (tall + 26) + "px";
  setText(byId("workflow-sub"), `${graph.name}: ${fixed(graph.tasks, 0)} tasks, ${graph.levels.length} levels`);
  setText(byId("workflow-end"), Object.entries(graph.states).map(([name, count]) => fixed(count, 0) + " " + name).join(" · "));
  const { root, width } = canvasFor(box, `Workflow of ${graph.tasks} tasks in ${graph.levels.length} levels: ${Object.entries(graph.states).map(([name, count]) => count + " " + name).join(", ")}`);
  const levels = graph.levels.length, x = (level) => levels < 2 ? width / 2 : 50 + level * (width - 110) / (levels - 1), y = (place) => 10 + place * (tall - 20);
  const lines = [];
  for (const [a, b] of graph.edges) {
    const from = graph.nodes[a], to = graph.nodes[b], x0 = x(from.level), x1 = x(to.level), mid = (x0 + x1) / 2;
    const path = svg("path", { d: `M${x0} ${y(from.place)}C${mid} ${y(from.place)} ${mid} ${y(to.place)} ${x1} ${y(to.place)}`, fill: "none", stroke: "var(--ink3)", "stroke-opacity": 0.4 });
    lines.push([a, b, path]); root.appendChild(path);
  }
  const room = levels < 2 ? width / 2 - 24 : (width - 110) / (levels - 1), labels = graph.widest <= 40;
  graph.nodes.forEach((node, n) => {
    const tone = `var(--${NODE_TONE[node.state]})`, cx = x(node.level), cy = y(node.place), r = node.count > 1 ? 7 : 4.5, group = svg("g", {});
    if (node.state === "failed") group.appendChild(svg("rect", { x: cx - r, y: cy - r, width: 2 * r, height: 2 * r, fill: tone }));
    else if (node.state === "blocked") group.appendChild(svg("rect", { x: cx - r, y: cy - r, width: 2 * r, height: 2 * r, fill: "var(--panel)", stroke: tone, "stroke-dasharray": "2 2" }));
    else if (node.state === "waiting" || node.state === "ready") group.appendChild(svg("circle", { cx, cy, r, fill: "var(--panel)", stroke: tone, "stroke-width": 1.5 }));
    else group.appendChild(svg("circle", { cx, cy, r, fill: tone }));
    group.appendChild(svg("title", {}, node.text));
    group.addEventListener("mouseenter", () => { for (const [a, b, path] of lines) path.setAttribute("stroke", a === n || b === n ? "var(--running)" : "var(--ink3)"); });
    root.appendChild(group);
    const few = graph.nodes.filter((one) => one.level === node.level).length <= 3;
    if (labels && room > 70 && (few || node.state === "failed" || node.state === "blocked")) label(root, cx + r + 3, cy + 4, node.label.length > room / 7 ? node.label.slice(0, Math.max(4, Math.floor(room / 7) - 1)) + "…" : node.label, node.state === "failed" || node.state === "blocked" ? "red" : "ink");
  });
  if (room > 60) graph.levels.forEach((name, level) => label(root, x(level), tall + 18, name.length > room / 6 ? name.slice(0, Math.max(3, Math.floor(room / 6) - 1)) + "…" : name, "", "middle"));
}
function showAbout(data) {
  const about = data.about, box = clear(byId("about"));
  const text = [about.run, `${fixed(about.events, 0)} events`, about.policies, `seed ${about.seed}`, `bursar ${about.version}`, `Python ${about.python}`, "times since the run began"].filter(Boolean).join(" · ");
  box.appendChild(words(text));
  const again = byId("again");
  if (again) { clear(again); if (about.command) add(again, command(about.command), about.then ? command(about.then) : null); else if (about.template) add(again, el("p", "note", "Its tasks: "), el("code", "", about.template)); else again.appendChild(el("p", "note", "The command is not shown.")); }
}
