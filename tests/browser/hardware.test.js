// A study on hardware: the pending plan, a faulty upload (the error is shown at its row), a correct one, notes, failures, and no token.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { begin, clean, lookAt, ocorl, real, until } from "./harness.js";

let world;
let good = "t,theta,omega,torque,theta_dot,omega_dot\n0.5,3.1,0.1,0.4,0.1,0.4\n1.5,3.2,0.2,0.5,0.1,0.4\n";
before(async () => {
  world = await begin(async (folder) => {
    await ocorl("study", "new", join(folder, "lab"), "--system", "pendulum", "--episodes", "5");
    good = await measure(join(folder, "lab"));
  });
});
after(() => world.end());

/** Measurements of the pending plan from a simulated rig. */
async function measure(study) {
  const plan = join(study, "../plan.json");
  await writeFile(plan, await ocorl("study", "ask", study));
  return ocorl("rig", "pendulum", plan);
}

/** The file with an invalid number in its second row of numbers. */
function spoilt(text) {
  const lines = text.split("\n");
  const rows = lines.flatMap((line, i) => (/^[\d-]/.test(line) ? [i] : []));
  const cells = lines[rows[1]].split(",");
  cells[2] = "nan";
  lines[rows[1]] = cells.join(",");
  return { text: lines.join("\n"), line: rows[1] + 1 };
}

const file = (text) => ({ name: "measured.csv", mimeType: "text/csv", buffer: Buffer.from(text) });

test("the pending plan says what to do", async () => {
  const page = await lookAt(world, "lab");
  await page.locator(".next").waitFor({ state: "visible" });
  assert.match(await page.locator(".next h2").textContent(), /^Next: run episode \d+ and measure$/);
  assert.ok((await page.locator(".times li").count()) > 0, "no times");
  if (real) {
    const plan = await (await fetch(new URL(await page.locator(".next a").getAttribute("href"), world.address))).json();
    assert.equal(plan.format, "ocorl-plan");
  }
  clean(page);
});

test("an error is shown at its row, and the corrected file is accepted", async () => {
  const page = await lookAt(world, "lab");
  const wrong = spoilt(good);
  await page.locator("#measured").setInputFiles(file(wrong.text));
  await page.locator(".refused .wrong-lines").waitFor();
  assert.equal(await page.locator("tr.wrong").getAttribute("data-line"), String(wrong.line));
  assert.equal(await page.locator(".wrong-cell").textContent(), "nan");
  assert.ok((await page.locator(".row-error").textContent()).length > 10);
  const before_ = await page.locator(".next h2").textContent();
  await page.locator("#measured").setInputFiles(file(good));
  // Visible for a moment only: the plan is then no longer pending.
  await page.locator(".accepted").waitFor({ state: "attached" });
  if (real) {
    await until(
      () => page.locator(".page-head .lead").textContent(),
      (text) => text.includes("1 of 5 episodes"),
      "one episode more",
    );
    good = await measure(join(world.folder, "lab"));
  }
  await until(
    () => page.locator(".next h2").textContent(),
    (now) => now !== before_,
    "the next plan",
  );
  clean(page, /status of 422/);
});

test("a note is added", async () => {
  const page = await lookAt(world, "lab");
  const note = "the belt <b>slips</b> & squeaks";
  await page.getByLabel("A note").fill(note);
  await page.getByRole("button", { name: "Add note" }).click();
  await until(
    () => page.locator(".notes li").allTextContents(),
    (all) => all.some((text) => text.includes(note)),
    "the note",
  );
  clean(page);
});

test("an aborted episode is marked", async () => {
  const page = await lookAt(world, "lab");
  await page.getByText("Episode aborted").click();
  await page.getByLabel("Why the episode failed").fill("belt tore");
  await page.getByRole("button", { name: "Mark as failed" }).click();
  await until(
    () => page.locator(".toast").allTextContents(),
    (all) => all.includes("Marked as failed"),
    "an answer",
  );
  if (real)
    await until(
      () => page.locator(".episodes-table").textContent(),
      (text) => text.includes("belt tore"),
      "the reason in the record",
    );
  clean(page);
});

test("without the token nothing can be written, and the page says how to get it", async () => {
  const page = await lookAt(world, "lab", { writable: false });
  assert.equal(await page.locator("#measured").isDisabled(), true);
  assert.equal(await page.getByRole("button", { name: "Add note" }).isDisabled(), true);
  assert.match(await page.locator(".note-form").textContent(), /ocorl watch.+#token=/);
  clean(page);
});

test("the token leaves the address at once", async () => {
  const page = await lookAt(world, "lab");
  await page.goto(world.url);
  await page.waitForSelector(".studies");
  assert.doesNotMatch(page.url(), /token/);
  const { id } = await (
    await fetch(`${world.address}api/studies`)
  )
    .json()
    .then(({ items }) => items.find((item) => item.name === "lab"));
  const answer = await fetch(`${world.address}api/study/${id}/note`, {
    method: "POST",
    body: '{"text":"no"}',
    headers: { "Content-Type": "application/json" },
  });
  assert.equal(answer.status, 403);
  clean(page);
});
