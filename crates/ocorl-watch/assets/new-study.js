// The form that creates a study: simulated at once, or on hardware, where the page plans and takes measurements.
import * as address from "./address.js";
import { mayWrite, postJson } from "./api.js";
import { button, el, fill } from "./dom.js";
import { errorParts } from "./errors.js";

export class NewStudy {
  constructor() {
    const field = (label, input) => el("label", { class: "field" }, el("span", {}, label), input);
    const text = (more) => el("input", { class: "text", ...more });
    this.system = el("select", { class: "select", onchange: () => this.suggest() });
    this.strategy = el("select", { class: "select" });
    this.name = text({ type: "text", required: true, maxlength: 80, pattern: "[A-Za-z0-9_][A-Za-z0-9_.\\-]*", oninput: () => (this.named = true) });
    this.seed = text({ type: "number", min: 0, step: 1, value: 0, oninput: () => this.suggest() });
    this.episodes = text({ type: "number", min: 1, step: 1, placeholder: "as in the paper" });
    this.hardware = el("select", { class: "select" }, el("option", { value: "" }, "simulated now"), el("option", { value: "1" }, "measured on hardware"));
    this.failure = el("div", { role: "alert" });
    this.submit = button("Create", { type: "submit", kind: "primary" });
    this.opener = button("New study", { hidden: true, onclick: () => this.element.showModal() });
    this.element = el(
      "dialog",
      { class: "card new-study", "aria-label": "New study" },
      el(
        "form",
        { onsubmit: (event) => this.create(event) },
        el("h2", {}, "New study"),
        field("System", this.system),
        field("Episodes are", this.hardware),
        field("Name of its folder", this.name),
        field("Measurement strategy", this.strategy),
        field("Episodes", this.episodes),
        field("Seed", this.seed),
        this.failure,
        el("p", { class: "row" }, this.submit, button("Cancel", { onclick: () => this.element.close() })),
      ),
    );
  }

  offer(systems, strategies, writable) {
    this.opener.hidden = !mayWrite() || !writable;
    if (this.system.options.length) return;
    const option = (name) => el("option", { value: name }, name);
    fill(this.system, systems.map(option));
    fill(this.strategy, strategies.map(option));
    this.suggest();
  }

  suggest() {
    if (!this.named) this.name.value = `${this.system.value}-${this.seed.value}`;
  }

  async create(event) {
    event.preventDefault();
    fill(this.failure);
    this.submit.disabled = true;
    try {
      const { id } = await postJson("/api/new", {
        name: this.name.value,
        system: this.system.value,
        hardware: this.hardware.value !== "",
        strategy: this.strategy.value,
        seed: Number(this.seed.value),
        episodes: this.episodes.value ? Number(this.episodes.value) : null,
      });
      this.element.close();
      location.hash = address.to(["study", id]);
    } catch (error) {
      fill(this.failure, el("div", { class: "refused" }, errorParts(error)));
    }
    this.submit.disabled = false;
  }
}
