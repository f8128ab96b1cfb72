// Runs before the first paint. Applies the theme that was chosen last time, so that the page does not flash in another one, and
// requests the study that the address names while the modules load.
(function () {
  try {
    const chosen = localStorage.getItem("ocorl-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Without storage the system's theme applies.
  }
  const study = /^#\/study\/([0-9a-f]{16})(?:\?|$)/.exec(location.hash);
  if (!study) return;
  const path = `/api/study/${study[1]}`;
  const answer = fetch(path, { cache: "no-store", credentials: "same-origin" });
  answer.catch(() => {}); // api.js handles a failure
  window.ocorlPreload = { path, answer };
})();
