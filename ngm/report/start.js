// What the page does when it is opened: texts and tables are there already, then data and plots are unpacked.
async function unpacked(id) {
  const packed = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function notice(words) {
  const box = document.getElementById("notice");
  box.textContent = words;
  box.hidden = false;
  for (const part of document.querySelectorAll(".plot, .controls, .room, .below")) part.hidden = true;
}

async function start() {
  startTheme();
  startContents();
  startTables();
  if (typeof DecompressionStream === "undefined") {
    notice("This browser is too old to draw the plots of this page. Answers, tables and the plots in words are all here.");
    return;
  }
  const data = JSON.parse(await unpacked("data"));
  themes = data.themes;
  startDownloads(data.tables);
  const script = document.createElement("script");
  script.textContent = await unpacked("plotly");
  document.head.append(script);
  await drawFigures(data.figures, data.height);
  for (const figure of document.querySelectorAll("[data-space]")) {
    const map = new SpaceMap(figure, data.spaces[figure.dataset.space]);
    await map.start();
  }
  root.dataset.ready = "true";
}

start().catch((error) => {
  notice(`The plots could not be drawn (${error.message}). Answers, tables and the plots in words are all here.`);
  throw error;
});
