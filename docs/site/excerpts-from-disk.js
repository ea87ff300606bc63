// Browsers forbid a page that was opened from disk to read another one, from which the search takes its excerpts. It
// then takes them from excerpts.js, which conf.py writes.
if (location.protocol === "file:" && location.pathname.endsWith("/search.html")) {
  document.write('<script src="_static/excerpts.js"></script>');
  const fetchPage = window.fetch;
  window.fetch = (address, ...rest) => {
    const path = decodeURI(String(address).split("#")[0]);
    const page = Object.keys(window.EXCERPTS ?? {}).find((name) => path.endsWith(`${name}.html`));
    if (!page) return fetchPage(address, ...rest);
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    main.textContent = window.EXCERPTS[page];
    return Promise.resolve(new Response(main.outerHTML));
  };
}
