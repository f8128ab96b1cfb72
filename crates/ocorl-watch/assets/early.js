// Runs before the first paint: takes the theme that was chosen last time, so that the page does not flash in another one,
// and asks for the study in the address, so that it is on its way while the rest of the page loads.
(function () {
  try {
    const chosen = localStorage.getItem("ocorl-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // No storage, no choice: the system's theme it is.
  }
  const study = /^#\/study\/([0-9a-f]{16})(?:\?|$)/.exec(location.hash);
  if (!study) return;
  const path = `/api/study/${study[1]}`;
  const answer = fetch(path, { cache: "no-store", credentials: "same-origin" });
  answer.catch(() => {}); // whoever takes it will see
  window.ocorlEarly = { path, answer };
})();
