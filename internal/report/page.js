"use strict";
// Shows a page of the history, and searches all of it. Texts are only ever set as text.
(() => {
  const rows = JSON.parse(document.getElementById("operations").textContent);
  const body = document.getElementById("rows"), find = document.getElementById("find"), found = document.getElementById("found");
  const newer = document.getElementById("newer"), older = document.getElementById("older");
  const size = 200;
  let shown = rows, first = 0, texts = null;
  const draw = () => {
    const page = document.createDocumentFragment();
    for (const row of shown.slice(first, first + size)) {
      const tr = document.createElement("tr");
      if (row[6]) tr.className = "undone";
      for (let i = 0; i < 6; i++) {
        const td = document.createElement("td");
        if (i === 0) td.className = "n";
        if (i === 5) td.className = "text";
        td.textContent = row[i];
        tr.append(td);
      }
      page.append(tr);
    }
    body.replaceChildren(page);
    const last = Math.min(first + size, shown.length);
    found.textContent = shown.length === 0 ? "nothing found" : `${first + 1} to ${last} of ${shown.length}`;
    newer.disabled = first === 0;
    older.disabled = last >= shown.length;
  };
  const search = () => {
    texts = texts || rows.map((row) => row.slice(0, 6).join(" ").toLowerCase());
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = words.length === 0 ? rows : rows.filter((_, i) => words.every((w) => texts[i].includes(w)));
    first = 0;
    draw();
  };
  find.addEventListener("input", search);
  newer.addEventListener("click", () => { first = Math.max(0, first - size); draw(); });
  older.addEventListener("click", () => { first += size; draw(); });
  document.getElementById("finder").hidden = false;
  document.getElementById("pages").hidden = rows.length <= size;
  found.textContent = rows.length === 0 ? "" : `1 to ${Math.min(size, rows.length)} of ${rows.length}`;
  newer.disabled = true;
  document.documentElement.dataset.ready = "yes";
})();
