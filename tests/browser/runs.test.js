// Runs that the page starts, stops and continues; runs of a sweep; the comparison of studies.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { begin, clean, itemOf, look, lookAt, ocorl, until } from "./harness.js";

let world;
before(async () => {
  world = await begin(async (folder) => {
    for (const strategy of ["max-determinant", "equidistant"])
      await ocorl("run", "pendulum", "--episodes", "2", "--strategy", strategy, "--out", join(folder, strategy), "-q");
    const grid = 'systems = ["pendulum"]\nseeds = 2\n[set]\nepisodes = 2\n[vary]\nstrategy = ["equidistant"]\n';
    await writeFile(join(folder, "grid.toml"), grid);
    await ocorl("sweep", join(folder, "grid.toml"), "--out", join(folder, "grid"), "-q");
  });
});
after(() => world.end());

/** A running episode has no record yet; the page asks for it all the same. */
const UNRECORDED = /status of 404/;

const chip = (page) => page.locator(".study-head .chip").textContent();

test("a run is created, stopped and continued, with the keyboard alone", async () => {
  const page = await look(world);
  await page.getByRole("button", { name: "New study" }).focus();
  await page.keyboard.press("Enter");
  const form = page.getByRole("dialog", { name: "New study" });
  await form.getByLabel("System").selectOption("cart-pole");
  await form.getByLabel("Seed").fill("3");
  assert.equal(await form.getByLabel("Name of its folder").inputValue(), "cart-pole-3");
  await form.getByLabel("Episodes", { exact: true }).fill("4");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".study-page");
  const stop = page.getByRole("button", { name: "Stop" });
  await stop.waitFor();
  await stop.press("Enter");
  await until(() => chip(page), (now) => now !== "running", "the run has stopped");
  const go = page.getByRole("button", { name: "Continue" });
  await go.waitFor();
  await go.press("Enter");
  await until(() => chip(page), (now) => now === "running", "the run goes on");
  await stop.waitFor();
  await stop.press("Enter");
  await until(() => chip(page), (now) => now !== "running", "the run has stopped again");
  clean(page, UNRECORDED);
});

test("a study on hardware is created; a name that is taken is refused", async () => {
  const page = await look(world);
  await page.getByRole("button", { name: "New study" }).click();
  const form = page.getByRole("dialog", { name: "New study" });
  await form.getByLabel("System").selectOption("pendulum");
  await form.getByLabel("Episodes are").selectOption("measured on hardware");
  await form.getByLabel("Name of its folder").fill("equidistant");
  await form.getByRole("button", { name: "Create" }).click();
  await form.getByText("there is already something named 'equidistant'").waitFor();
  await form.getByLabel("Name of its folder").fill("lab-7");
  await form.getByRole("button", { name: "Create" }).click();
  await page.getByRole("button", { name: "Plan first episode" }).waitFor();
  clean(page, /status of 409/);
});

test("without the token nothing is created, and a run of another process is not stopped", async () => {
  const page = await look(world, "", { writable: false });
  await page.waitForSelector(".study");
  assert.equal(await page.getByRole("button", { name: "New study" }).count(), 0);
  const { id } = await itemOf(world, "equidistant");
  for (const path of ["api/new", `api/study/${id}/stop`]) {
    const answer = await fetch(`${world.address}${path}`, { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } });
    assert.equal(answer.status, 403, path);
  }
  const token = /token=(.*)/.exec(world.url)[1];
  const headers = { "Content-Type": "application/json", "X-Ocorl-Token": token };
  const answer = await fetch(`${world.address}api/study/${id}/stop`, { method: "POST", body: "{}", headers });
  assert.equal(answer.status, 409);
  clean(page);
});

test("a comparison shows trajectories over each other, and the settings that differ", async () => {
  const ids = await Promise.all(["max-determinant", "equidistant"].map(async (name) => (await itemOf(world, name)).id));
  const page = await look(world, `#/compare?ids=${ids}`);
  await page.locator('[data-exhibit="paths"] svg').first().waitFor();
  const legend = await page.locator('[data-exhibit="paths"]').textContent();
  for (const name of ["max determinant, optimistic, seed 0", "equidistant, optimistic, seed 0"]) assert.ok(legend.includes(name), legend);
  const rows = page.getByRole("region", { name: "Settings that differ" }).locator("tbody tr");
  assert.deepEqual(await rows.locator("td:first-child").allTextContents(), ["strategy"]);
  clean(page);
});

test("a cell of a sweep shows its runs, and opens one as a study", async () => {
  const { id } = await itemOf(world, "grid");
  const page = await look(world, `#/sweep/${id}`);
  await page.getByRole("button", { name: /^20\./ }).focus();
  await page.keyboard.press("Enter");
  const runs = page.getByRole("region", { name: "Runs of the cell" }).locator("tbody tr");
  assert.equal(await runs.count(), 2);
  const cost = Number(await runs.nth(1).locator("td:nth-child(3)").textContent());
  await runs.nth(1).getByRole("button", { name: "Open as a study" }).press("Enter");
  await page.waitForSelector(".study-page");
  const last = () => page.locator(".verdict").textContent();
  await until(last, (now) => /final cost/.test(now), "the study has learned");
  const again = Number(/final cost ([\d.]+\d)/.exec(await last())[1]);
  assert.ok(Math.abs(again - cost) < 1e-3, `${again} instead of ${cost}`);
  clean(page, UNRECORDED);
});
