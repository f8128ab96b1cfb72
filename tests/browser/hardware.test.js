// A study on hardware: the pending plan, a faulty upload (the error is shown at its row), a correct one, notes, failures, and no token.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { begin, clean, lookAt, ocorl, until } from "./harness.js";

let world;
let good = "t,theta,omega,torque,theta_dot,omega_dot\n0.5,3.1,0.1,0.4,0.1,0.4\n1.5,3.2,0.2,0.5,0.1,0.4\n";
before(async () => {
  world = await begin(async (folder) => {
    await ocorl("study", "new", join(folder, "lab"), "--system", "pendulum", "--episodes", "5");
    good = await measure(join(folder, "lab"));
  });
});
after(() => world.end());

/** Runs the program; while a job of the page works on the study, it waits. */
async function patiently(...args) {
  const answer = async () => {
    try {
      return { text: await ocorl(...args) };
    } catch (error) {
      if (/is in use by process/.test(error.stderr)) return {};
      throw error;
    }
  };
  return (await until(answer, ({ text }) => text !== undefined, `ocorl ${args.join(" ")}`)).text;
}

/** Measurements of the pending plan from a simulated rig; it is planned first, if none is pending. */
async function measure(study) {
  const plan = join(study, "../plan.json");
  await writeFile(plan, await patiently("study", "ask", study));
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
  assert.equal(await page.locator(".steps [aria-current]").textContent(), "Check");
  const plan = await (await fetch(new URL(await page.locator(".next a").getAttribute("href"), world.address))).json();
  assert.equal(plan.format, "ocorl-plan");
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
  await page.locator("#measured").setInputFiles(file(good));
  await page.getByText("There is no model yet to compare them with.").waitFor();
  assert.match(await page.locator(".study-head .lead").textContent(), /0 of 5 episodes/, "nothing is stored before the review");
  await page.getByRole("button", { name: "Record" }).click();
  await page.locator(".accepted", { hasText: "stored" }).waitFor({ state: "attached" });
  await until(
    () => page.locator(".study-head .lead").textContent(),
    (text) => text.includes("1 of 5 episodes"),
    "one episode more",
  );
  clean(page, /status of 422/);
});

/** Plans the next episode on the page; a job that completes plots may still be running. */
async function planNext(page, episode) {
  const heading = page.getByRole("heading", { name: `Next: run episode ${episode} and measure` });
  const plan = page.getByRole("button", { name: "Plan next episode" });
  const press = async () => {
    // While it plans, the button has another name.
    if (await plan.isEnabled({ timeout: 500 }).catch(() => false)) await plan.click({ timeout: 2000 }).catch(() => {});
    return heading.isVisible();
  };
  await until(press, (planned) => planned, `a plan of episode ${episode}`);
}

test("after an upload the page reviews it and plans the next episode", async () => {
  const page = await lookAt(world, "lab");
  await page.getByRole("heading", { name: /^Review episode 0, then plan the next$/ }).waitFor();
  assert.equal(await page.locator(".steps [aria-current]").textContent(), "Review");
  await planNext(page, 1);
  clean(page, /status of 503/);
});

test("residuals are shown before an upload is recorded, and rows can be left out", async () => {
  const study = join(world.folder, "lab");
  const wrong = (await measure(study)).split("\n");
  const row = wrong.findIndex((line) => /^[\d-]/.test(line)) + 2;
  const cells = wrong[row].split(",");
  const last = wrong.find((line) => line.includes("theta_dot")).split(",").indexOf("theta_dot");
  cells[last] = "500";
  wrong[row] = cells.join(",");
  const page = await lookAt(world, "lab");
  await page.locator("#measured").setInputFiles(file(wrong.join("\n")));
  const rows = page.locator(".checked-rows tbody tr");
  await rows.first().waitFor();
  assert.equal(await rows.count(), 10);
  assert.equal(await page.locator(".checked-rows td.far").count(), 1);
  assert.match(await page.locator(".upload-answer").textContent(), /1 are more than 6 σ from their prediction/);
  await page.getByLabel("Learn from row 3").press("Space");
  await page.getByRole("button", { name: "Record" }).click();
  await page.getByRole("heading", { name: /^Review episode 1, then plan the next$/ }).waitFor();
  await page.getByRole("tab", { name: "Data" }).click();
  const weights = () => page.locator('[data-table="measurements"] tbody tr td:last-child').allTextContents();
  await until(weights, (now) => now[2]?.trim() === "0", "the row that was left out");
  await planNext(page, 2);
  assert.match(await page.locator(".checks").textContent(), /change from the last plan/);
  clean(page, /status of 503/);
});

test("an episode that went wrong is announced until it is discarded", async () => {
  await patiently("study", "fail", join(world.folder, "lab"), "--reason", "belt tore");
  const page = await lookAt(world, "lab");
  const banner = page.locator(".warning", { hasText: "belt tore" });
  await banner.waitFor();
  assert.match(await page.locator(".verdict.bad").textContent(), /^Episode 2, the last one, was aborted: belt tore/);
  await banner.getByRole("button", { name: "Discard" }).click();
  await banner.waitFor({ state: "detached" });
  await planNext(page, 3);
  clean(page, /status of 503/);
});

test("a note is added", async () => {
  const page = await lookAt(world, "lab");
  await page.getByRole("tab", { name: "Settings, notes" }).click();
  const note = "the belt <b>slips</b> & squeaks";
  await page.getByLabel("A note").fill(note);
  // A job of the page may still be completing the plots of the last upload; then the note is refused and stays in its field.
  const added = async () => {
    if (await page.getByLabel("A note").inputValue()) await page.getByRole("button", { name: "Add note" }).click();
    return page.locator(".notes li").allTextContents();
  };
  await until(added, (all) => all.some((text) => text.includes(note)), "the note");
  clean(page, /status of (409|503)/);
});

test("an aborted episode is marked", async () => {
  await patiently("study", "ask", join(world.folder, "lab"), "--out", join(world.folder, "next.json"));
  const page = await lookAt(world, "lab");
  await page.getByText("Episode aborted").click();
  await page.getByLabel("Why the episode failed").fill("belt tore");
  await page.getByRole("button", { name: "Mark as failed" }).click();
  await until(
    () => page.locator(".toast").allTextContents(),
    (all) => all.includes("Marked as failed"),
    "an answer",
  );
  await page.getByRole("tab", { name: "Settings, notes" }).click();
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
  await page.getByRole("tab", { name: "Settings, notes" }).click();
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
