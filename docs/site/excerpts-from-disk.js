// Browsers forbid a page that was opened from disk to read another one, from which the search takes its excerpts. It
// then takes them from excerpts.js, which conf.py writes.
if (location.protocol === "file:" && location.pathname.endsWith("/search.html")) {
  document.write('<script src="_static/excerpts.js"></script>');
  const fetchPage = window.fetch;
  window.fetch = (address, ...rest) => {
    const path = decodeURI(String(address).split("#")[0]);
    // The longest name: README is the end of docs/results/README.
    const pages = Object.keys(window.EXCERPTS ?? {}).filter((name) => path.endsWith(`/${name}.html`));
    const page = pages.sort((one, other) => other.length - one.length)[0];
    if (!page) return fetchPage(address, ...rest);
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    main.textContent = window.EXCERPTS[page];
    return Promise.resolve(new Response(main.outerHTML));
  };
}
