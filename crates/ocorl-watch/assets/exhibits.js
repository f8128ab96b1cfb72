// A grid of figure cards; new data update the existing cards.
import { el } from "./dom.js";
import { Exhibit } from "./exhibit.js";

export class ExhibitGrid {
  /** `before`: elements placed before the figures. */
  constructor(options, before = []) {
    Object.assign(this, { options, before, cards: new Map() });
    this.element = el("div", { class: "exhibits" }, before);
  }

  /** Shows these figures in this order; `options` may change with them (the episode they belong to). */
  update(exhibits, options = {}) {
    const gone = new Set(this.cards.keys());
    exhibits.forEach((exhibit, place) => {
      gone.delete(exhibit.id);
      const card = this.cards.get(exhibit.id);
      if (card) card.update(exhibit, options);
      else this.add(exhibit, options);
      const { element } = this.cards.get(exhibit.id);
      const there = this.element.children[place + this.before.length];
      if (there !== element) this.element.insertBefore(element, there ?? null);
    });
    for (const id of gone) this.remove(id);
    this.balance();
  }

  /** A card that would be alone in its row gets the whole width. */
  balance() {
    const shown = [...this.element.children].filter((card) => !card.hidden);
    for (const card of shown) card.classList.remove("alone");
    const narrow = shown.filter((card) => !card.classList.contains("wide"));
    if (narrow.length % 2 === 1) narrow.at(-1).classList.add("alone");
  }

  add(exhibit, options) {
    const choose = exhibit.id === "phase";
    this.cards.set(exhibit.id, new Exhibit(exhibit, { ...this.options, ...options, choose }));
  }

  remove(id) {
    const card = this.cards.get(id);
    card.destroy();
    card.element.remove();
    this.cards.delete(id);
  }

  /** Draws marks of the running episode over all panels. */
  over(marks) {
    for (const card of this.cards.values()) card.over(marks);
  }
}
