// The search box of the hidden space: suggestions while typing, Enter goes to the node.
const MOST_FOUND = 8;

SpaceMap.prototype.startSearch = function startSearch() {
  const input = this.part(".search input");
  const list = this.part(".found");
  let found = [];
  let chosen = -1;
  const show = (nodes) => {
    found = nodes;
    list.replaceChildren(...nodes.map((i, k) => {
      const option = make("li", this.space.ids[i]);
      option.id = `${list.id}-${k}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      if (this.space.texts?.[i]) option.append(make("span", ` ${this.space.texts[i].slice(0, 120)}`));
      option.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
      option.addEventListener("click", () => take(i));
      return option;
    }));
    list.hidden = !nodes.length;
    input.setAttribute("aria-expanded", String(nodes.length > 0));
    choose(nodes.length ? 0 : -1);
  };
  const choose = (k) => {
    chosen = k;
    [...list.children].forEach((option, place) => option.setAttribute("aria-selected", String(place === k)));
    if (k >= 0) input.setAttribute("aria-activedescendant", list.children[k].id);
    else input.removeAttribute("aria-activedescendant");
  };
  const take = (i) => {
    input.value = this.space.ids[i];
    show([]);
    this.go(i, "search");
  };
  input.addEventListener("input", () => {
    show(findNodes(this.space, input.value, MOST_FOUND));
    if (input.value.trim() && !found.length) this.say("No node has that in its id or text.");
  });
  input.addEventListener("blur", () => show([]));
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!found.length) show(findNodes(this.space, input.value, MOST_FOUND));
      else choose((chosen + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
    } else if (event.key === "Enter") {
      const nodes = found.length ? found : findNodes(this.space, input.value, 1);
      if (nodes.length) take(nodes[Math.max(chosen, 0)]);
      else if (input.value.trim()) this.say("No node has that in its id or text.");
    } else if (event.key === "Escape" && found.length) show([]);
    else return;
    event.preventDefault();
  });
};
