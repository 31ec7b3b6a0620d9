(() => {
  const roots = document.querySelectorAll(".texpr:not([data-ready])");
  for (const root of roots) {
    root.dataset.ready = "";
    for (const stages of root.querySelectorAll(".stages")) {
      const slider = stages.querySelector("input");
      const items = stages.querySelectorAll("li");
      const panes = stages.querySelectorAll(".stage");
      const show = (k) => {
        slider.value = k;
        panes.forEach((pane, n) => { pane.hidden = n !== k; });
        items.forEach((item, n) => item.classList.toggle("now", n === k));
        const list = items[k].parentElement;
        list.scrollTop = items[k].offsetTop - list.offsetTop - list.clientHeight / 2;
      };
      slider.addEventListener("input", () => show(Number(slider.value)));
      show(panes.length - 1);
      items.forEach((item, k) => item.addEventListener("click", () => show(k)));
    }
    for (const row of root.querySelectorAll(".panes")) {
      const light = (event, on) => {
        const at = event.target.closest("[data-equation]");
        if (!at) return;
        for (const e of row.querySelectorAll(`[data-equation="${at.dataset.equation}"]`)) e.classList.toggle("hit", on);
      };
      row.addEventListener("mouseover", (event) => light(event, true));
      row.addEventListener("mouseout", (event) => light(event, false));
    }
  }
})();
