// Light or dark: as the system says, or as the reader chose.
const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const onTheme = [];

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches;
}

function themeChanged() {
  document.getElementById("theme").setAttribute("aria-pressed", String(isDark()));
  for (const redraw of onTheme) redraw();
}

function startTheme() {
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("ngm-theme", root.dataset.theme);
    } catch {
      // Not allowed here: the choice lasts as long as the page is open.
    }
    themeChanged();
  });
  systemDark.addEventListener("change", themeChanged);
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    root.classList.add("printing");
    themeChanged();
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    root.classList.remove("printing");
    themeChanged();
  });
  themeChanged();
}

// Contents: open beside the text on wide screens, folded above it on small ones; the part in view is marked.
function startContents() {
  const wide = matchMedia("(min-width: 64rem)");
  const details = document.querySelector(".toc details");
  const fold = () => { details.open = wide.matches; };
  fold();
  wide.addEventListener("change", fold);
  const links = new Map([...details.querySelectorAll("a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
  details.querySelector("summary").addEventListener("click", (event) => { if (wide.matches) event.preventDefault(); });
  for (const link of links.values()) link.addEventListener("click", () => { if (!wide.matches) details.open = false; });
  const mark = () => {
    let current = null;
    for (const section of document.querySelectorAll("main > section")) {
      if (current === null || section.getBoundingClientRect().top < innerHeight * 0.35) current = section.id;
    }
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
}
