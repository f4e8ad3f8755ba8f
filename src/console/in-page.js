/** Runs in the page: asks for it again every few seconds, and puts in what has changed. */
(() => {
  const everyMs = 5_000;
  const away = document.getElementById('away');
  const parts = () => document.querySelectorAll('[data-live]');
  if (parts().length === 0) return;

  function show(page) {
    for (const part of parts()) {
      const next = page.getElementById(part.id);
      if (next === null || next.innerHTML === part.innerHTML) continue;
      const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
      part.className = next.className;
      part.replaceChildren(...[...next.childNodes].map((node) => document.importNode(node, true)));
      if (focused !== null) part.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
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

  let timer = 0;
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(() => look().finally(again), everyMs);
  };
  document.addEventListener('visibilitychange', () => look());
  again();
})();
