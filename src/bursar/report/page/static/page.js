// The page: what is drawn when, keys, theme, and the live stream.
const page = { data: null, source: null, heard: 0, ended: false, drawn: false };
const CHARTS = { plane: drawPlane, "money-chart": drawMoney, "tasks-chart": drawTasks, "forecast-chart": drawForecasts, "runtime-chart": drawRunTimes, "machines-canvas": drawMachines, "supply-chart": drawSupply, "fleet-chart": drawFleet };
const NEEDS = { plane: ["charts", "forecast"], "money-chart": ["charts", "forecast"], "tasks-chart": ["charts", "forecast"], "forecast-chart": ["forecast"], "runtime-chart": ["runtimes"], "machines-canvas": ["machines", "charts"], "supply-chart": ["charts"], "fleet-chart": ["charts"] };
const PANELS = [[["verdict"], showVerdict], [["tiles"], showTiles], [["money", "machines"], showKey], [["money"], showMoney], [["failures"], showFailures], [["why"], showWhy], [["longest"], showLongest], [["offers", "about"], showOffers], [["ledger"], showLedger], [["runtimes"], showRunTimesTold], [["graphs"], drawGraph], [["about"], showAbout]];

// A service has neither plans nor an end: what would say so for ever is left out, and the others take its room.
function arrange(data) {
  const serves = data.about.accounts.length > 0 && !data.charts.plans.length && !data.forecast.history.length;
  for (const id of ["time-and-money", "forecasts"]) byId(id).classList.toggle("gone", serves);
  for (const [id, usual, wide] of [["money", "c4", "c6"], ["tasks", "c4", "c6"], ["run-times", "c6", "c12"]]) { byId(id).classList.toggle(usual, !serves); byId(id).classList.toggle(wide, serves); }
}
function draw(changed) {
  const data = page.data, touched = (names) => !changed || names.some((name) => changed.includes(name));
  if (touched(["about"])) arrange(data);
  for (const id in CHARTS) {
    const box = byId(id);
    if (!box || !touched(NEEDS[id])) continue;
    try { CHARTS[id](box, data); } catch (error) { console.error(error); emptyState(box, "This panel could not be drawn.", "The numbers above do not depend on it."); }
  }
  for (const [names, show] of PANELS) if (touched(names)) { try { show(data); } catch (error) { console.error(error); } }
  page.drawn = true;
  if (touched(["forecast"])) setText(byId("forecast-text"), data.forecast.text);
  setText(byId("stream"), page.source || data.live ? (data.live ? "live" : data.state) + " · " + fixed(data.seq, 0) + " events" : data.state);
  byId("dot").className = data.live ? "dot on" : "dot";
  const stop = byId("stop"); if (stop) stop.classList.toggle("gone", !data.live);
}
function theme(next) {
  const root = document.documentElement;
  if (next) { root.dataset.theme = next; try { localStorage.setItem("bursar-theme", next); } catch (error) { /* a file may have no storage */ } }
  else { try { const kept = localStorage.getItem("bursar-theme"); if (kept) root.dataset.theme = kept; } catch (error) { /* as above */ } }
  if (page.data) draw();
}
function toggleTheme() {
  const isDark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  theme(isDark ? "light" : "dark");
}
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
  const sections = [...document.querySelectorAll("section[id]")].filter((one) => !one.classList.contains("gone"));
  const go = (node) => { if (node) { node.scrollIntoView({ block: "start" }); node.focus({ preventScroll: true }); } };
  if (event.key === "d") toggleTheme();
  else if (event.key === "?") byId("help").showModal();
  else if (event.key === "g" && byId("runs-link")) byId("runs-link").click();
  else if (event.key === "/" && byId("why-filter")) { byId("why-filter").focus(); event.preventDefault(); }
  else if (event.key === "f") go(byId("failures"));
  else if (/^[1-9]$/.test(event.key)) go(sections[Number(event.key) - 1]);
}
function take(changes) {
  page.heard = Date.now(); alarm("");
  if (!page.data) return;
  Object.assign(page.data, changes);
  draw(Object.keys(changes));
}
function alarm(text) { const node = byId("alarm"); if (!node) return; node.classList.toggle("gone", !text); if (text) setText(byId("alarm-text"), text); }
function listen() {
  const address = document.body.dataset.events;
  if (!address || page.source || page.ended) return;
  page.source = new EventSource(address); page.heard = Date.now();
  const hear = (name) => page.source.addEventListener(name, (event) => {
    const given = JSON.parse(event.data);
    if (name === "snapshot") { page.data = given; page.heard = Date.now(); alarm(""); draw(); } else take(given);
    if (name === "ended") { page.ended = true; page.source.close(); page.source = null; draw([]); }
  });
  for (const name of ["snapshot", "tick", "series", "forecast", "decision", "ended"]) hear(name);
  page.source.addEventListener("alive", () => { page.heard = Date.now(); alarm(""); });
}
function silence() {
  if (page.ended || document.hidden || !document.body.dataset.events || !page.heard) return;
  const quiet = (Date.now() - page.heard) / 1000;
  if (quiet < 5) return;
  alarm(`Not connected. What you see is ${duration(quiet)} old; the run goes on without this page.`);
  if (quiet > 30 && page.data && page.data.forecast.now) { page.data.forecast.now = null; draw(["forecast"]); }
}
function visibility() {
  if (document.hidden) { if (page.source) { page.source.close(); page.source = null; } } else listen();
}
function stopping() {
  const button = byId("stop"), dialog = byId("stop-dialog");
  if (!button) return;
  button.addEventListener("click", () => { setText(byId("stop-answer"), ""); dialog.showModal(); });
  byId("stop-cancel").addEventListener("click", () => dialog.close());
  byId("stop-form").addEventListener("submit", (event) => {
    event.preventDefault();
    fetch(document.body.dataset.stop, { method: "POST", headers: { Authorization: "Bearer " + byId("stop-token").value.trim() } })
      .then((response) => response.json().then((answer) => { setText(byId("stop-answer"), answer.error || answer.said); if (response.ok) setTimeout(() => dialog.close(), 800); }))
      .catch(() => setText(byId("stop-answer"), "No answer: is the page's server still there?"));
  });
}
function begin() {
  theme();
  const kept = byId("data");
  if (kept) page.data = JSON.parse(kept.textContent);
  document.addEventListener("keydown", keys);
  byId("theme").addEventListener("click", toggleTheme); byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
  const filter = byId("why-filter");
  if (filter) filter.addEventListener("input", () => { chosen.text = filter.value; listWhy(page.data); });
  const menu = byId("workflow-menu");
  if (menu) menu.addEventListener("change", () => { shownGraph.work = Number(menu.value); drawGraph(page.data); });
  if (byId("try-now")) byId("try-now").addEventListener("click", () => { if (page.source) { page.source.close(); page.source = null; } listen(); });
  stopping();
  if (byId("runs-rows")) { askRuns(); setInterval(askRuns, 2000); }
  if (!byId("plane")) return;
  if (page.data) draw();
  let width = window.innerWidth, timer = 0;
  window.addEventListener("resize", () => { if (window.innerWidth === width) return; width = window.innerWidth; clearTimeout(timer); timer = setTimeout(() => draw(), 120); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (page.data) draw(); });
  document.addEventListener("visibilitychange", visibility);
  setInterval(silence, 1000);
  listen();
}
begin();
