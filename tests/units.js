// What a page shows with digits in it: phrases, their labels, and where they stand; see units.py.
(() => {
  const NAMES = "code, pre, kbd, script, style, .mono, .brand, .here, option, summary, #runs-rows a, [data-name]";
  const seen = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length > 0;
  const blocks = (node) => { let at = node; while (at.parentElement && getComputedStyle(at).display === "inline" && at.tagName !== "text") at = at.parentElement; return at; };
  function said(node) {
    if (node.nodeType === 3) return node.textContent;
    if (node.nodeType !== 1 || node.matches(NAMES) || !seen(node)) return " ";
    return " " + [...node.childNodes].map(said).join("") + " ";
  }
  function heading(node) {
    const panel = node.closest("section, figure");
    const head = panel && panel.querySelector(".head");
    return head ? [...head.children].map((one) => one.textContent).join(" ") : "";
  }
  function column(cell) {
    const row = cell.parentElement, place = [...row.children].indexOf(cell);
    const heads = cell.closest("table").querySelectorAll("thead th");
    return heads[place] ? heads[place].textContent : "";
  }
  function axis(text) {
    const root = text.ownerSVGElement, all = [...root.querySelectorAll("text")];
    const upward = all.find((one) => (one.getAttribute("transform") || "").includes("rotate(-90"));
    if (heading(root)) return heading(root);
    if (!upward) return all.length && text.getAttribute("text-anchor") === "end" ? all[0].textContent : "";
    const lowest = all.reduce((a, b) => Number(b.getAttribute("y")) > Number(a.getAttribute("y")) ? b : a);
    return text.getAttribute("text-anchor") === "end" ? upward.textContent : lowest.textContent;
  }
  function label(node) {
    const cell = node.closest("td"), tile = node.closest(".tile"), drawing = node.closest("svg text");
    if (cell) return column(cell);
    if (tile) return tile.querySelector(".label").textContent;
    if (drawing) return axis(drawing);
    return node.closest(".head, .chips") ? heading(node) : "";
  }
  const found = window.onCanvases.map(([phrase, canvas]) => ({ phrase, label: heading(canvas), where: "canvas" }));
  const boxes = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!/\d/.test(walker.currentNode.textContent) || parent.closest(NAMES) || !seen(parent)) continue;
    boxes.add(blocks(parent));
  }
  const where = (box) => { const at = box.closest("[id]"); return (at ? "#" + at.id + " " : "") + box.tagName.toLowerCase() + (box.className && box.className.baseVal === undefined ? "." + box.className : ""); };
  for (const box of boxes) found.push({ phrase: [...box.childNodes].map(said).join(""), label: label(box), where: where(box) });
  for (const node of document.querySelectorAll("[title], [aria-label]")) {
    if (node.closest(NAMES) || !seen(node)) continue;
    for (const name of ["title", "aria-label"]) if (/\d/.test(node.getAttribute(name) || "")) found.push({ phrase: node.getAttribute(name), label: "", where: where(node) + " " + name });
  }
  for (const node of document.querySelectorAll("svg title")) found.push({ phrase: node.textContent, label: "", where: where(node.parentElement) + " title" });
  const offers = [...document.querySelectorAll("#offers-table tbody tr")].map((row) => row.children[0].textContent);
  return { found, offers };
})()
