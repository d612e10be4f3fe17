"use strict";
(function () {
  document.documentElement.classList.add("js");
  const all = (root, what) => Array.from(root.querySelectorAll(what));

  // Switches: of the panels of a section, those show whose data-when fits all its switches.
  for (const section of all(document, "[data-tabs]")) {
    const chosen = {};
    const show = () => {
      for (const panel of all(section, "[data-when]")) {
        const wishes = panel.dataset.when.split(" ").filter(Boolean).map((w) => [w.slice(0, w.indexOf("=")), w.slice(w.indexOf("=") + 1)]);
        panel.hidden = wishes.some(([name, value]) => name in chosen && chosen[name] !== value);
      }
      for (const button of all(section, "button[data-switch]")) {
        button.setAttribute("aria-pressed", String(chosen[button.dataset.switch] === button.value));
      }
    };
    for (const part of all(section, "[data-switch]")) {
      const choose = () => { chosen[part.dataset.switch] = part.value; show(); };
      if (!(part.dataset.switch in chosen)) chosen[part.dataset.switch] = part.value;
      part.addEventListener(part.tagName === "SELECT" ? "change" : "click", choose);
    }
    show();

    // The legend: a click hides, pointing dims the others.
    for (const entry of all(section, "[data-legend]")) {
      const group = entry.dataset.legend;
      entry.addEventListener("click", () => {
        const on = entry.getAttribute("aria-pressed") !== "true";
        entry.setAttribute("aria-pressed", String(on));
        for (const series of all(section, ".series")) if (series.dataset.group === group) series.classList.toggle("off", !on);
      });
      const dim = (on) => () => {
        for (const series of all(section, ".series")) series.classList.toggle("dim", on && series.dataset.group !== group);
      };
      entry.addEventListener("mouseenter", dim(true));
      entry.addEventListener("mouseleave", dim(false));
    }
  }

  // Tables: cells know their header, for narrow screens, and a click on a header sorts by it.
  for (const table of all(document, "table.stack")) {
    const heads = all(table, "thead th");
    for (const row of all(table, "tbody tr")) {
      Array.from(row.cells).forEach((cell, k) => { if (heads[k]) cell.dataset.label = heads[k].dataset.name || heads[k].textContent; });
    }
    if (!("sortable" in table.dataset)) continue;
    const key = (row, k) => {
      const cell = row.cells[k], text = cell.dataset.sort === undefined ? cell.textContent.trim() : cell.dataset.sort, number = Number(text);
      return text === "" || number !== number ? text : number;
    };
    heads.forEach((head, k) => {
      const sort = () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = all(table, "tbody tr").map((row) => [key(row, k), row]);
        const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
        rows.sort((a, b) => (up ? order(a[0], b[0]) : order(b[0], a[0])));
        table.tBodies[0].append(...rows.map((pair) => pair[1]));
      };
      head.tabIndex = 0;
      head.title = "sort";
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
    });
  }

  // Numbers as on the rest of the page.
  const raised = (n) => String(n).replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
  const written = (v) => {
    if (v === 0) return "0";
    const [mantissa, exponent] = v.toExponential(2).split("e").map(Number);
    return exponent < -3 || exponent > 4 ? mantissa + "·10" + raised(exponent) : String(Number(v.toPrecision(3)));
  };

  // An axis as the picture describes it: kind, ends, and their pixels. Pixels → value.
  const axis = (text) => {
    const parts = text.split(" ");
    const [low, high, from, to] = parts.slice(1).map(Number);
    return { from, to, value: (p) => {
      const at = low + ((p - from) / (to - from)) * (high - low);
      if (parts[0] === "linear") return at;
      return parts[0] === "zero" && Math.abs(p - from) < 0.5 ? 0 : Math.pow(10, at);
    } };
  };
  const points = (path) => path.getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ").map(Number));
  const between = (list, x) => {
    for (let k = 1; k < list.length; k++) {
      const [a, b] = [list[k - 1], list[k]];
      if (a[0] <= x && x <= b[0]) return b[0] === a[0] ? b[1] : a[1] + ((b[1] - a[1]) * (x - a[0])) / (b[0] - a[0]);
    }
    return null;
  };

  // Pointing at a picture reads its curves off at that place.
  for (const plot of all(document, "figure .plot")) {
    const x = axis(plot.dataset.x), y = axis(plot.dataset.y);
    const curves = all(plot, ".series").map((series) => ({ series, pieces: all(series, ".curve").map(points) })).filter((c) => c.pieces.length);
    if (!curves.length) continue;
    const figure = plot.closest("figure");
    const tip = figure.appendChild(document.createElement("div"));
    tip.className = "tip";
    tip.hidden = true;
    const cross = plot.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "line"));
    cross.setAttribute("class", "cross");
    cross.setAttribute("y1", y.to);
    cross.setAttribute("y2", y.from);
    const leave = () => { tip.hidden = true; cross.style.display = "none"; };
    leave();
    plot.addEventListener("pointerleave", leave);
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect(), scale = plot.viewBox.baseVal.width / box.width;
      let at = (event.clientX - box.left) * scale;
      if (at < x.from - 8 || at > x.to + 8) return leave();
      if (plot.dataset.snap) {
        const places = curves.flatMap((c) => c.pieces.flat()).map((p) => p[0]);
        at = places.reduce((best, p) => (Math.abs(p - at) < Math.abs(best - at) ? p : best));
      }
      at = Math.min(Math.max(at, x.from), x.to);
      tip.replaceChildren();
      const title = tip.appendChild(document.createElement("b"));
      title.textContent = plot.dataset.unit + " " + written(x.value(at));
      for (const { series, pieces } of curves) {
        const height = pieces.map((piece) => between(piece, at)).find((h) => h !== null);
        if (height === undefined || series.classList.contains("off")) continue;
        const line = tip.appendChild(document.createElement("div"));
        const name = line.appendChild(document.createElement("span"));
        const colour = name.appendChild(document.createElement("i"));
        colour.style.background = series.getAttribute("stroke");
        name.append(series.dataset.label);
        line.appendChild(document.createElement("span")).textContent = written(y.value(height));
      }
      cross.setAttribute("x1", at);
      cross.setAttribute("x2", at);
      cross.style.display = "";
      tip.hidden = tip.childElementCount < 2;
      const left = at / scale, room = box.width - left;
      tip.style.top = "44px";
      tip.style.left = room > tip.offsetWidth + 24 ? left + 14 + "px" : left - tip.offsetWidth - 14 + "px";
    });
  }
})();
