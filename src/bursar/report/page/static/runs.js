// The list of runs: asked for again every two seconds, and changed where it differs.
function meter(parts) {
  const made = el("span", "meter"); made.setAttribute("aria-hidden", "true");
  for (const name in parts) if (parts[name] > 0) { const one = el("i", name); one.style.width = (100 * Math.min(1, parts[name])).toFixed(1) + "%"; made.appendChild(one); }
  return made;
}
function runRow(row) {
  const made = el("tr"), link = el("a"), state = el("span", "state");
  link.href = "/run/" + encodeURIComponent(row.run); link.appendChild(el("b", "", row.run));
  add(state, el("i", row.tone), words(row.state));
  add(made, add(el("td"), link), add(el("td"), state), add(el("td"), meter(row.tasks)), el("td", "r", row.done), el("td", "r", row.failed),
    add(el("td"), row.used === null ? null : meter({ ink: row.used })), el("td", "r", row.committed), el("td", "r", row.budget), el("td", "r", row.chance), el("td", "r", row.time));
  made.dataset.is = JSON.stringify(row);
  return made;
}
function showRuns(given) {
  setText(byId("runs-verdict"), given.verdict); setText(byId("runs-more"), given.more || "\u00a0");
  byId("no-runs").classList.toggle("gone", given.rows.length > 0);
  const body = byId("runs-rows");
  given.rows.forEach((row, n) => {
    const old = body.children[n];
    if (!old) body.appendChild(runRow(row));
    else if (old.dataset.is !== JSON.stringify(row)) body.replaceChild(runRow(row), old);
  });
  while (body.children.length > given.rows.length) body.removeChild(body.lastChild);
}
function askRuns() {
  if (document.hidden) return;
  fetch("/runs.json").then((response) => response.json()).then(showRuns).catch(() => {});
}
