// Opens folded parts and adds later rows for links, copies commands, and prepares printing.
{
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (!id) return;
    document.getElementById(id)?.closest("details:not([open])")?.setAttribute("open", "");
    const table = tables.find((table) => id.startsWith(table.id) && /^\d+$/.test(id.slice(table.id.length)));
    table?.reveal(id);
  };
  addEventListener("hashchange", reveal);
  // A second click on the same link does not change the hash.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  reveal();

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentNode.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        // Not every browser lets pages from files write to the clipboard.
        getSelection().selectAllChildren(code);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll(".finding details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
}
