// How the nodes of the hidden space are divided, and how each group is marked.
const SYMBOLS = {
  circle: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11z",
  square: "M3 3h10v10H3z",
  diamond: "M8 1.5 14.5 8 8 14.5 1.5 8z",
  "triangle-up": "M8 2 14.5 13.5h-13z",
  "triangle-down": "M8 14 1.5 2.5h13z",
  cross: "M5.8 1.5h4.4v4.3h4.3v4.4h-4.3v4.3H5.8v-4.3H1.5V5.8h4.3z",
  x: "M3.5 1.5 8 6l4.5-4.5 2 2L10 8l4.5 4.5-2 2L8 10l-4.5 4.5-2-2L6 8 1.5 3.5z",
};
const FEW = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down"];
const ROLES = ["labelled", "validation", "unlabelled"];

function modesOf(space) {
  const modes = [];
  if (space.classes.length) {
    const numbers = space.kind === "numbers";
    modes.push(["predicted", numbers ? "Predicted range" : "Predicted class"]);
    if (space.label.some((y) => y >= 0)) {
      modes.push(["label", numbers ? "Known number" : "Known class"]);
      if (!numbers) modes.push(["right", "Right or wrong"]); // another range may be a hair away
    }
  }
  modes.push(["role", "Labelled or not"]);
  return modes;
}

// Groups in the order in which they are drawn, later ones on top: { name, color, symbol, size, opacity, nodes }.
function groupsOf(space, mode) {
  const n = space.ids.length;
  const pick = (test) => { const out = []; for (let i = 0; i < n; i++) if (test(i)) out.push(i); return out; };
  const base = Math.max(3.5, Math.min(11, 320 / Math.sqrt(n)));
  const quiet = { color: "edge", symbol: "circle", size: base * 0.8, opacity: 0.45 };
  let groups;
  if (mode === "role") {
    groups = [
      { name: "Unlabelled", ...quiet, nodes: pick((i) => space.role[i] === 2) },
      { name: "Validation", color: "series-4", symbol: "square", size: base, opacity: 0.9, nodes: pick((i) => space.role[i] === 1) },
      { name: "Labelled", color: "series-1", symbol: "diamond", size: base * 1.5, opacity: 1, nodes: pick((i) => space.role[i] === 0) },
    ];
  } else if (mode === "right") {
    const known = (i) => space.label[i] >= 0;
    groups = [
      { name: "Not known", ...quiet, nodes: pick((i) => !known(i)) },
      { name: "Right", color: "series-1", symbol: "circle", size: base, opacity: 0.8, nodes: pick((i) => known(i) && space.label[i] === space.predicted[i]) },
      { name: "Wrong", color: "series-2", symbol: "x", size: base * 1.25, opacity: 1, nodes: pick((i) => known(i) && space.label[i] !== space.predicted[i]) },
    ];
  } else {
    const members = space.classes.map(() => []);
    const none = [];
    for (let i = 0; i < n; i++) (members[space[mode][i]] || none).push(i);
    const few = space.classes.length <= FEW.length;
    groups = space.classes.map((name, k) => ({
      name,
      color: `series-${(k % 10) + 1}`,
      symbol: FEW[few ? k : Math.floor(k / 10) % FEW.length],
      size: base,
      opacity: 0.85,
      nodes: members[k],
    }));
    groups.unshift({ name: mode === "label" ? "Not known" : "No class", ...quiet, nodes: none });
  }
  return groups.filter((group) => group.nodes.length);
}

function swatch(group, colors) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("width", "12");
  svg.setAttribute("height", "12");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", SYMBOLS[group.symbol]);
  path.setAttribute("fill", colors[group.color]);
  svg.append(path);
  return svg;
}

// Neighbours of every node: those of node i are next[start[i]] to next[start[i + 1] - 1].
function neighboursOf(n, edges) {
  const start = new Int32Array(n + 1);
  for (const end of edges) start[end + 1]++;
  for (let i = 0; i < n; i++) start[i + 1] += start[i];
  const next = new Int32Array(edges.length);
  const filled = start.slice();
  for (let e = 0; e < edges.length; e += 2) {
    next[filled[edges[e]]++] = edges[e + 1];
    next[filled[edges[e + 1]]++] = edges[e];
  }
  return (i) => [...new Set(next.subarray(start[i], start[i + 1]))];
}

// Nodes whose id or text has the words in it: first the id itself, then ids that begin with them, then the rest.
function findNodes(space, words, most) {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return [];
  const ranks = [[], [], [], []];
  for (let i = 0; i < space.ids.length; i++) {
    const id = space.ids[i].toLowerCase();
    if (id === wanted) ranks[0].push(i);
    else if (id.startsWith(wanted)) ranks[1].push(i);
    else if (id.includes(wanted)) ranks[2].push(i);
    else if (space.texts && space.texts[i] && space.texts[i].toLowerCase().includes(wanted)) ranks[3].push(i);
  }
  return ranks.flat().slice(0, most);
}
