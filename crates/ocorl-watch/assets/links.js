// State shared by the plots of a page: time and episode under the cursor, selected time, time window.

/** An event hub; plots subscribe by the label of their x axis ("time", "episode"). */
export class Links extends EventTarget {
  constructor() {
    super();
    this.pinned = null;
    this.window = null;
  }

  /** Announces the value of an axis under the cursor; `null` when the cursor leaves. */
  hover(axis, value, from) {
    this.tell("hover", { axis, value, from });
  }

  /** Selects a time in the animation and in the time plots. */
  pin(time, from) {
    this.pinned = time;
    this.tell("pin", { time, from });
  }

  /** Sets the time window of all time plots; `null` shows everything. */
  zoomTime(range) {
    this.window = range;
    this.tell("window", { range });
  }

  on(kind, listener, signal) {
    this.addEventListener(kind, (event) => listener(event.detail), { signal });
  }

  tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
