// What the plots of a page share: the time and the episode under the cursor, the selected time, the time window.

/** Plots listen here by the label of their x axis ("time", "episode"). */
export class Links extends EventTarget {
  constructor() {
    super();
    this.pinned = null;
    this.window = null;
  }

  /** The cursor stands at `value` of an axis, or left it (`null`). */
  hover(axis, value, from) {
    this.tell("hover", { axis, value, from });
  }

  /** The selected time: of the animation, and of the lines in the time plots. */
  pin(time, from) {
    this.pinned = time;
    this.tell("pin", { time, from });
  }

  /** All time plots show from … to, or everything (`null`). */
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
