// The hidden space: a map of all nodes with search, hover, a panel for the chosen node, and colours to choose.
const MOST_DRAWN = 3000; // nodes, where there is no WebGL
const MANY_EDGES = 10000; // more are not drawn until asked for
const MOST_EDGES = 30000; // of more, so many are drawn, evenly over the list; hovering shows all of a node's
const LONGEST_NAME = 60; // characters in the legend; the whole name is its title
const svgNS = "http://www.w3.org/2000/svg";

function hasWebGL() {
  try {
    const context = document.createElement("canvas").getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return Boolean(context);
  } catch {
    return false;
  }
}

function briefly(name) {
  return name.length > LONGEST_NAME ? name.slice(0, LONGEST_NAME - 1).trimEnd() + "…" : name;
}

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

class SpaceMap {
  constructor(figure, space) {
    Object.assign(this, { figure, space, key: figure.dataset.space, hiddenGroups: new Set(), pinned: null, hovered: null });
    this.part = (name) => figure.querySelector(name);
    this.map = this.part(".map");
    this.neighbours = neighboursOf(space.ids.length, space.edges);
    this.gl = hasWebGL();
    this.mode = modesOf(space)[0][0];
    this.touch = matchMedia("(pointer: coarse)").matches;
    this.drag = !this.touch;
    this.view = this.home();
    this.startControls();
    this.startSearch();
    this.showPanel();
  }

  // Ranges that show all nodes, with the same scale in both directions.
  home() {
    const { width, height } = this.map.getBoundingClientRect();
    const ends = (values) => {
      let [low, high] = [Infinity, -Infinity];
      for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
      return Number.isFinite(low) ? [low, high] : [0, 1];
    };
    const [x, y] = [ends(this.space.x), ends(this.space.y)];
    const unit = 1.1 * Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height) || 1 / width;
    const around = ([low, high], size) => [(low + high - unit * size) / 2, (low + high + unit * size) / 2];
    return { x: around(x, width), y: around(y, height) };
  }

  traces() {
    const { space } = this;
    const { colors } = themeNow();
    const type = this.gl ? "scattergl" : "scatter";
    this.drawn = this.gl ? null : this.sample();
    const edges = {
      type, mode: "lines", hoverinfo: "skip", visible: this.showEdges, ...(this.showEdges ? this.edgeLines() : { x: [], y: [] }),
      line: { width: this.gl ? 1 : 0.5, color: colors.edge }, opacity: this.edgeOpacity(),
    };
    this.groups = groupsOf(space, this.mode);
    const points = this.groups.map((group) => {
      const nodes = this.drawn ? group.nodes.filter((i) => this.drawn.has(i)) : group.nodes;
      return {
        type, mode: "markers", name: "", hoverinfo: "none", customdata: nodes,
        x: nodes.map((i) => space.x[i]), y: nodes.map((i) => space.y[i]),
        visible: !this.hiddenGroups.has(group.name),
        marker: { color: colors[group.color], symbol: group.symbol, size: group.size, opacity: group.opacity, line: { width: 0 } },
      };
    });
    return [edges, ...points];
  }

  edgeOpacity() {
    const drawn = Math.min(this.space.edges.length / 2, MOST_EDGES);
    return Math.max(0.12, Math.min(0.55, 24 / Math.sqrt(drawn + 1)));
  }

  // One line with gaps through the ends of all edges; made once where all nodes are drawn.
  edgeLines() {
    if (this.lines && !this.drawn) return this.lines;
    const { edges, x, y } = this.space;
    const step = 2 * Math.ceil(edges.length / 2 / MOST_EDGES);
    this.lines = { x: [], y: [] };
    for (let e = 0; e < edges.length; e += step) {
      const [u, v] = [edges[e], edges[e + 1]];
      if (this.drawn && !(this.drawn.has(u) && this.drawn.has(v))) continue;
      this.lines.x.push(x[u], x[v], null);
      this.lines.y.push(y[u], y[v], null);
    }
    return this.lines;
  }

  // Without WebGL: evenly over the list, and always the labelled nodes and the chosen one.
  sample() {
    const n = this.space.ids.length;
    const step = Math.max(1, Math.ceil(n / MOST_DRAWN));
    const chosen = new Set();
    for (let i = 0; i < n; i++) if (i % step === 0 || (this.space.role[i] === 0 && chosen.size < 2 * MOST_DRAWN)) chosen.add(i);
    if (this.pinned !== null) chosen.add(this.pinned);
    return chosen;
  }

  async draw() {
    const { template } = themeNow();
    const axis = { showgrid: false, zeroline: false, showticklabels: false, automargin: false };
    const layout = {
      template, hovermode: "closest", dragmode: this.drag ? "pan" : false, showlegend: false,
      margin: { l: 0, r: 0, t: 0, b: 0 }, height: this.map.clientHeight,
      xaxis: { ...axis, range: [...this.view.x] }, yaxis: { ...axis, range: [...this.view.y] },
    };
    const config = { ...plotConfig(this.key), displayModeBar: false, doubleClick: false };
    await Plotly.react(this.map, this.traces(), layout, config);
    this.showLegend();
    this.mark();
  }

  async start() {
    await this.draw();
    this.map.on("plotly_hover", (event) => this.hover(event.points[0].customdata, event.event));
    this.map.on("plotly_unhover", () => this.hover(null));
    this.map.on("plotly_click", (event) => this.pin(event.points[0].customdata));
    this.map.on("plotly_relayout", () => this.moved());
    this.map.on("plotly_relayouting", () => this.mark());
    new ResizeObserver(() => requestAnimationFrame(() => this.mark())).observe(this.map);
    onTheme.push(() => this.draw());
    // plotly takes a finger that scrolls the page for a click. It is not told of fingers unless they drag the map; a tap
    // reaches it as a click of the mouse.
    this.map.addEventListener("touchstart", (event) => { if (!this.drag) event.stopPropagation(); }, { capture: true, passive: true });
    if (!this.gl) this.noteSample();
  }

  noteSample() {
    const shown = this.drawn.size;
    if (shown === this.space.ids.length) return;
    const note = `This browser has no WebGL: ${shown.toLocaleString("en")} of ${this.space.ids.length.toLocaleString("en")} nodes are drawn. Search finds all of them. `;
    this.part("figcaption").prepend(make("strong", note));
  }

  moved() {
    const { xaxis, yaxis } = this.map._fullLayout;
    this.view = { x: [...xaxis.range], y: [...yaxis.range] };
    this.mark();
  }

  look(view) {
    this.view = view;
    return Plotly.relayout(this.map, { "xaxis.range": view.x, "yaxis.range": view.y });
  }

  zoom(factor, at = [0.5, 0.5]) {
    const about = ([low, high], share) => {
      const centre = low + (high - low) * share;
      return [centre + (low - centre) * factor, centre + (high - centre) * factor];
    };
    return this.look({ x: about(this.view.x, at[0]), y: about(this.view.y, at[1]) });
  }

  move(dx, dy) {
    const by = ([low, high], share) => [low + (high - low) * share, high + (high - low) * share];
    return this.look({ x: by(this.view.x, dx), y: by(this.view.y, dy) });
  }

  startControls() {
    this.showEdges = this.space.edges.length > 0 && this.space.edges.length / 2 <= MANY_EDGES;
    const box = this.part('[data-part="edges"]');
    box.checked = this.showEdges;
    box.disabled = !this.space.edges.length;
    const total = this.space.edges.length / 2;
    const kept = Math.ceil(total / Math.max(1, Math.ceil(total / MOST_EDGES)));
    if (kept < total) box.parentElement.append(` (${kept.toLocaleString("en")} of ${total.toLocaleString("en")})`);
    box.addEventListener("change", () => { this.showEdges = box.checked; this.draw(); });
    for (const [mode, name] of modesOf(this.space)) {
      const label = make("label");
      const input = Object.assign(make("input"), { type: "radio", name: `mode-${this.key}`, value: mode, checked: mode === this.mode });
      input.addEventListener("change", () => { this.mode = mode; this.hiddenGroups.clear(); this.draw(); this.say(`Coloured by ${name.toLowerCase()}.`); });
      label.append(input, make("span", name));
      this.part('[data-part="modes"]').append(label);
    }
    for (const button of this.figure.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => saveImage(this.map, button.dataset.save, this.key));
    }
    const acts = { in: () => this.zoom(1 / 1.6), out: () => this.zoom(1.6), home: () => this.look(this.home()) };
    for (const [name, act] of Object.entries(acts)) this.part(`[data-do="${name}"]`).addEventListener("click", act);
    const drag = this.part('[data-do="drag"]');
    drag.hidden = !this.touch;
    drag.addEventListener("click", () => {
      this.drag = !this.drag;
      drag.setAttribute("aria-pressed", String(this.drag));
      this.part(".stage").classList.toggle("dragged", this.drag); // a finger moves the map, not the page
      Plotly.relayout(this.map, { dragmode: this.drag ? "pan" : false });
    });
    this.startKeys(acts);
  }

  startKeys(acts) {
    const steps = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, 0.12], ArrowDown: [0, -0.12] };
    this.map.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (steps[event.key]) this.move(...steps[event.key]);
      else if (event.key === "+" || event.key === "=") acts.in();
      else if (event.key === "-") acts.out();
      else if (event.key === "0") acts.home();
      else if (event.key === "Escape" && this.pinned !== null) this.unpin();
      else return;
      event.preventDefault();
    });
    this.map.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls; pinching a touch pad comes with ctrl
      event.preventDefault();
      event.stopPropagation();
      const box = this.map.getBoundingClientRect();
      this.zoom(Math.exp(event.deltaY / 300), [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height]);
    }, { passive: false, capture: true });
  }

  showLegend() {
    const { colors } = themeNow();
    const focused = this.part(".legend").contains(document.activeElement) ? document.activeElement.dataset.group : null;
    this.part(".legend").replaceChildren(...this.groups.map((group, k) => {
      const button = make("button");
      button.type = "button";
      button.dataset.group = group.name;
      if (group.name.length > LONGEST_NAME) button.title = group.name;
      button.setAttribute("aria-pressed", String(!this.hiddenGroups.has(group.name)));
      button.append(swatch(group, colors), make("span", briefly(group.name)), make("span", group.nodes.length.toLocaleString("en"), "n"));
      button.addEventListener("click", () => {
        const hide = !this.hiddenGroups.has(group.name);
        if (hide) this.hiddenGroups.add(group.name);
        else this.hiddenGroups.delete(group.name);
        button.setAttribute("aria-pressed", String(!hide));
        Plotly.restyle(this.map, { visible: !hide }, [k + 1]);
      });
      return button;
    }));
    if (focused !== null) [...this.part(".legend").children].find((b) => b.dataset.group === focused)?.focus();
  }

  facts(i) {
    const { space } = this;
    const name = (k) => (k >= 0 && k < space.classes.length ? space.classes[k] : null);
    const facts = [];
    const predicted = name(space.predicted[i]);
    const p = space.probability[i];
    const numbers = space.kind === "numbers";
    if (predicted !== null) facts.push([numbers ? "Predicted range" : "Predicted", predicted + (p === null ? "" : ` (${p.toFixed(2)})`)]);
    const label = name(space.label[i]);
    const known = numbers ? "Known number" : "Known class";
    const judged = label === predicted ? " – predicted right" : " – predicted wrong";
    if (label !== null) facts.push([known, label + (predicted === null || numbers ? "" : judged)]);
    else if (space.classes.length) facts.push([known, "none"]);
    facts.push(["Role", ROLES[space.role[i]] ?? "unknown"]);
    return facts;
  }

  hover(i, event) {
    this.hovered = i ?? null;
    const tip = this.part(".tip");
    tip.hidden = this.hovered === null || this.touch;
    this.mark();
    if (tip.hidden) return;
    const near = this.neighbours(i);
    const text = this.space.texts?.[i];
    const names = near.slice(0, 8).map((j) => this.space.ids[j]).join(", ") + (near.length > 8 ? ` and ${near.length - 8} more` : "");
    tip.replaceChildren(
      make("strong", this.space.ids[i]),
      ...(text ? [make("p", text.length > 160 ? text.slice(0, 159) + "…" : text, "quote")] : []),
      ...this.facts(i).map(([fact, value]) => make("div", `${fact}: ${value}`)),
      make("div", near.length ? `Neighbours: ${names}` : "No neighbours"),
    );
    this.placeTip(tip, event);
  }

  placeTip(tip, event) {
    const stage = this.part(".stage").getBoundingClientRect();
    const [x, y] = [event.clientX - stage.left, event.clientY - stage.top];
    const left = x + 16 + tip.offsetWidth > stage.width ? x - 16 - tip.offsetWidth : x + 16;
    const top = y + 16 + tip.offsetHeight > stage.height ? y - 16 - tip.offsetHeight : y + 16;
    tip.style.left = `${Math.max(4, Math.min(left, stage.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(4, Math.min(top, stage.height - tip.offsetHeight - 4))}px`;
  }

  // Rings and edges of the node under the pointer, or else of the chosen one, on top of the map.
  mark() {
    const over = this.part(".over");
    const full = this.map._fullLayout;
    const i = this.hovered ?? this.pinned;
    over.replaceChildren();
    if (i === null || !full?.xaxis) return;
    const place = (j) => [full.xaxis._offset + full.xaxis.l2p(this.space.x[j]), full.yaxis._offset + full.yaxis.l2p(this.space.y[j])];
    const add = (tag, values, className) => {
      const element = document.createElementNS(svgNS, tag);
      for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
      if (className) element.setAttribute("class", className);
      over.append(element);
    };
    const [x1, y1] = place(i);
    for (const j of this.neighbours(i).slice(0, 500)) {
      const [x2, y2] = place(j);
      add("line", { x1, y1, x2, y2 });
      add("circle", { cx: x2, cy: y2, r: 5 }, "near");
    }
    add("circle", { cx: x1, cy: y1, r: 9 });
  }

  pin(i, from) {
    this.pinned = i;
    this.hovered = null;
    this.part(".tip").hidden = true;
    this.showPanel(from);
    this.mark();
    const near = this.neighbours(i).length;
    const facts = this.facts(i).map(([fact, value]) => `${fact}: ${value}.`).join(" ");
    this.say(`Node ${this.space.ids[i]}. ${this.space.texts?.[i] ?? ""} ${facts} ${near} ${near === 1 ? "neighbour" : "neighbours"}.`);
  }

  unpin() {
    this.pinned = null;
    this.showPanel();
    this.mark();
    this.say("No node is chosen.");
  }

  // Chooses a node and brings it to the middle of the map.
  async go(i, from) {
    const half = ([low, high]) => (high - low) / 2;
    const all = this.home();
    const size = (axis) => Math.min(half(this.view[axis]), half(all[axis]) / 2.5);
    const around = (axis) => [this.space[axis][i] - size(axis), this.space[axis][i] + size(axis)];
    this.pin(i, from);
    if (this.drawn && !this.drawn.has(i)) {
      this.view = { x: around("x"), y: around("y") };
      await this.draw();
    } else await this.look({ x: around("x"), y: around("y") });
  }

  showPanel(from) {
    const panel = this.part(".panel");
    const { space, pinned: i } = this;
    if (i === null) {
      panel.replaceChildren(make("p", `${this.touch ? "Tap" : "Click"} a node, or search for one, to see what it says, what is predicted for it and who its neighbours are.`, "idle"));
      return;
    }
    const close = make("button", "Close");
    close.type = "button";
    close.addEventListener("click", () => { this.unpin(); this.map.focus({ preventScroll: true }); });
    const name = make("div", undefined, "name");
    name.append(make("h3", space.ids[i]), close);
    const facts = make("dl");
    for (const [fact, value] of this.facts(i)) facts.append(make("dt", fact), make("dd", value));
    const near = this.neighbours(i);
    const text = space.texts?.[i];
    panel.replaceChildren(name, ...(text ? [make("p", text, "quote")] : []), facts, make("h4", near.length ? `Neighbours (${near.length})` : "No neighbours"), this.nearList(near, 8));
    panel.scrollTop = 0;
    if (from === "panel") panel.focus({ preventScroll: true });
  }

  nearList(near, most) {
    const list = make("ul");
    for (const j of near.slice(0, most)) {
      const button = make("button", this.space.ids[j]);
      button.type = "button";
      const [, said] = this.facts(j)[0];
      button.append(make("span", [said, this.space.texts?.[j]].filter(Boolean).join(" · ")));
      button.addEventListener("click", () => this.go(j, "panel"));
      const item = make("li");
      item.append(button);
      list.append(item);
    }
    if (near.length > most) {
      const button = make("button", `and ${near.length - most} more`);
      button.type = "button";
      button.addEventListener("click", () => {
        const longer = this.nearList(near, near.length);
        list.replaceWith(longer);
        longer.children[most].firstChild.focus();
      });
      const item = make("li", undefined, "more");
      item.append(button);
      list.append(item);
    }
    return list;
  }

  say(words) {
    this.part('[data-part="live"]').textContent = words;
  }
}
