/** Runs in the page: puts in what has changed, as the server tells it. Where it tells nothing, the page is asked for again now and then. */
(() => {
  const everyMs = 5_000;
  const away = document.getElementById('away');
  const parts = () => document.querySelectorAll('[data-live]');
  if (parts().length === 0) return;

  function put(part, className, nodes) {
    const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
    part.className = className;
    part.replaceChildren(...nodes.map((node) => document.importNode(node, true)));
    if (focused !== null) part.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  }

  function show(page) {
    for (const part of parts()) {
      const next = page.getElementById(part.id);
      if (next === null || next.innerHTML === part.innerHTML) continue;
      put(part, next.className, [...next.childNodes]);
    }
  }

  function showParts(told) {
    for (const { id, className, html } of told) {
      const part = document.getElementById(id);
      if (part === null) continue;
      const { body } = new DOMParser().parseFromString(html, 'text/html');
      if (body.innerHTML !== part.innerHTML) put(part, className, [...body.childNodes]);
    }
  }

  async function look() {
    if (document.hidden) return;
    try {
      const answer = await fetch('/', { headers: { accept: 'text/html' }, signal: AbortSignal.timeout(2 * everyMs) });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      // The session is over, or somebody else's.
      if (answer.ok && page.body.dataset.page !== document.body.dataset.page) location.reload();
      if (answer.ok) show(page);
      away.hidden = answer.ok;
    } catch {
      away.hidden = false;
    }
  }

  let source = null;
  let timer = 0;

  function stop() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  /** Until the stream is there again. */
  function again() {
    stop();
    timer = setTimeout(listen, everyMs);
    void look();
  }

  // A page that nobody looks at keeps no connection: a browser has few for one address.
  function listen() {
    stop();
    if (document.hidden) return;
    source = new EventSource('/console/now/events');
    source.addEventListener('now', ({ data }) => {
      away.hidden = true;
      showParts(JSON.parse(data));
    });
    source.addEventListener('over', () => location.reload());
    source.addEventListener('error', again);
  }

  document.addEventListener('visibilitychange', listen);
  addEventListener('pagehide', stop);
  addEventListener('pageshow', ({ persisted }) => persisted && listen());
  listen();
})();
