// State shared by the plots of a page: the time or episode under the cursor, and the selected time.

export class Links extends EventTarget {
  constructor() {
    super();
    this.pinned = null;
    this.shown = null;
  }

  /** The value of an axis (t, episode) under the cursor; `null` when the cursor leaves: then the selected time is shown. */
  hover(axis, value) {
    if (axis !== null && axis !== "t" && axis !== "episode") return;
    this.show(axis === null ? (this.pinned === null ? null : { axis: "t", value: this.pinned }) : { axis, value });
  }

  /** Selects a time. */
  pin(time) {
    this.pinned = time;
    this.show(time === null ? null : { axis: "t", value: time });
    this.tell("pin", time);
  }

  show(at) {
    this.shown = at;
    this.tell("shown", at);
  }

  on(kind, listener, signal) {
    this.addEventListener(kind, (event) => listener(event.detail), { signal });
  }

  tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
