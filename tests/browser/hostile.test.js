// 200 hostile names of studies and notes, in the dashboard and in the report: no script runs, no request goes to another host.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { begin, clean, look, ocorl } from "./harness.js";
import { folderName, PAYLOADS } from "./payloads.js";

let world;
before(async () => {
  const names = PAYLOADS.map(folderName);
  world = await begin(async (folder) => {
    await ocorl("study", "new", join(folder, "seed"), "--system", "pendulum", "--episodes", "2");
    await mkdir(join(folder, "hostile"));
    for (const name of names) await cp(join(folder, "seed"), join(folder, "hostile", name), { recursive: true });
  });
});
after(() => world.end());

test("there are 200 of them", () => assert.equal(PAYLOADS.length, 200));

test("in the list", async () => {
  const page = await look(world);
  await page.waitForSelector(".study");
  const names = await page.locator(".study-name a").allTextContents();
  assert.equal(names.filter((name) => name.startsWith("hostile/")).length, PAYLOADS.length);
  assert.ok(
    names.some((name) => name.includes("<img src=x")),
    "names are shown as they are",
  );
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => window.__hit), 0);
  clean(page);
});

test("on the page of each study, as its name and as a note", async () => {
  const { items } = await (await fetch(`${world.address}api/studies`)).json();
  const hostile = items.filter((item) => item.name.startsWith("hostile/"));
  const page = await look(world);
  const token = await page.evaluate(() => sessionStorage.getItem("ocorl-token"));
  for (const [index, { id }] of hostile.entries()) {
    const text = PAYLOADS[index];
    const answer = await page.evaluate(
      async ([path, note, secret]) =>
        (
          await fetch(path, {
            method: "POST",
            body: JSON.stringify({ text: note }),
            headers: { "Content-Type": "application/json", "X-Ocorl-Token": secret },
          })
        ).status,
      [`/api/study/${id}/note`, text, token],
    );
    assert.equal(answer, 200);
    await page.evaluate((fragment) => {
      location.hash = fragment;
    }, `#/study/${id}`);
    await page.waitForFunction((note) => {
      return [...document.querySelectorAll(".notes li")].some((entry) => entry.textContent.includes(note.trim()));
    }, text);
  }
  assert.equal(await page.evaluate(() => window.__hit), 0);
  clean(page);
});

test("in what the address says", async () => {
  for (const payload of PAYLOADS.slice(0, 40)) {
    const page = await look(
      world,
      `#/study/${encodeURIComponent(payload)}?episode=${encodeURIComponent(payload)}&log=${encodeURIComponent(payload)}`,
      { writable: false },
    );
    await page.waitForSelector("h1");
    assert.equal(await page.evaluate(() => window.__hit), 0);
    clean(page, /status of 40[04]/);
    await page.context().close();
  }
});

test("in the report", async () => {
  const { items } = await (await fetch(`${world.address}api/studies`)).json();
  const page = await look(world);
  for (const { id } of items.filter((item) => item.name.startsWith("hostile/")).slice(0, 40)) {
    await page.goto(`${world.address}api/study/${id}/report.html`);
    assert.equal(await page.evaluate(() => window.__hit), 0);
  }
  clean(page);
});
