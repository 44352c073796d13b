// Plots, drawn by plotly in the colours of the page.
const ICONS = {
  png: { width: 16, height: 16, path: "M8 1v8.2L5 6.3 3.9 7.4 8 11.5l4.1-4.1L11 6.3 8.8 8.5V1zM2 13h12v1.6H2z" },
  svg: { width: 16, height: 16, path: "M2 2h12v12H2zm1.5 1.5v9h9v-9zM5 11l2-4 1.5 2.4L10 7l1.5 4z" },
};
const VARIABLE = /^var\(--([a-z0-9-]+)\)$/;
const hasHover = matchMedia("(hover: hover)");
let themes;

function themeNow() {
  return isDark() ? themes.dark : themes.light;
}

// Names of colours give way to the colours of the theme.
function resolved(value, colors) {
  if (typeof value === "string") {
    const found = VARIABLE.exec(value);
    return found ? colors[found[1]] : value;
  }
  if (Array.isArray(value)) {
    return value.length && typeof value[0] === "number" ? value : value.map((v) => resolved(v, colors));
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolved(v, colors)]));
}

function plotConfig(key) {
  const button = (format) => ({
    name: format,
    title: `Download as ${format.toUpperCase()}`,
    icon: ICONS[format],
    click: (gd) => saveImage(gd, format, key),
  });
  return {
    responsive: true,
    displaylogo: false,
    displayModeBar: hasHover.matches ? "hover" : false, // a finger has the buttons above the plot
    modeBarButtons: [["zoom2d", "pan2d", "resetScale2d"], [button("png"), button("svg")]],
    doubleClick: "reset",
  };
}

function saveImage(gd, format, key) {
  const { width, height } = gd.getBoundingClientRect();
  return Plotly.downloadImage(gd, { format, filename: key, width, height, scale: format === "png" ? 2 : 1 });
}

// The title of an axis in lines that fit, for narrow screens.
function inLines(title, width) {
  const most = Math.max(12, Math.floor(width / 7.5) - 6); // letters of a line
  const lines = [""];
  for (const word of title.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (longer.length > most && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.join("<br>");
}

async function drawFigures(figures, height) {
  const touch = matchMedia("(pointer: coarse)").matches;
  for (const plot of document.querySelectorAll("[data-plot]")) {
    const key = plot.dataset.plot;
    const figure = figures[key];
    const draw = () => {
      const { colors, template } = themeNow();
      const layout = { height, dragmode: touch ? false : "zoom", ...resolved(figure.layout, colors), template };
      for (const [name, axis] of Object.entries(layout)) {
        if (name.startsWith("xaxis") && axis.title?.text) axis.title.text = inLines(axis.title.text, plot.clientWidth);
      }
      return Plotly.react(plot, resolved(figure.data, colors), layout, plotConfig(key));
    };
    await draw();
    onTheme.push(draw);
    for (const button of document.querySelectorAll(`[data-save][data-figure="${CSS.escape(key)}"]`)) {
      button.closest(".tools").hidden = false;
      button.addEventListener("click", () => saveImage(plot, button.dataset.save, key));
    }
    await new Promise((next) => setTimeout(next)); // lets the reader scroll in between
  }
}
