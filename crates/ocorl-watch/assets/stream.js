// Events from the server, with back-off when the connection breaks and polling in the meantime.
import { get } from "./api.js";

const FIRST = 1000;
const LONGEST = 30000;
const POLL = 3000;

/** Events: `change` {id}, `list`, `live` {id, live}, `again` (events may have been missed), `state` ("live", "polling", "gone"). */
export class Stream extends EventTarget {
  constructor(study) {
    super();
    Object.assign(this, { study, wait: FIRST, state: null, seen: null, polling: null, source: null, retry: null });
    this.looked = () => this.visibilityChanged();
    document.addEventListener("visibilitychange", this.looked);
    this.connect();
  }

  /** Browsers limit the connections per server, so a hidden page closes its stream. */
  visibilityChanged() {
    clearTimeout(this.retry);
    if (document.hidden) {
      this.source.close();
      clearTimeout(this.polling);
      this.polling = null;
    } else this.connect();
  }

  on(kind, listener) {
    this.addEventListener(kind, (event) => listener(event.detail));
    return this;
  }

  close() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.looked);
    this.source?.close();
    clearTimeout(this.retry);
    clearTimeout(this.polling);
  }

  connect() {
    this.source?.close();
    const query = this.study ? `?study=${encodeURIComponent(this.study)}` : "";
    this.source = new EventSource(`/api/events${query}`);
    this.source.addEventListener("open", () => this.opened());
    this.source.addEventListener("error", () => this.broke());
    for (const kind of ["change", "list", "live"])
      this.source.addEventListener(kind, ({ data }) => this.tell(kind, parsed(data)));
  }

  opened() {
    const again = this.state !== null;
    this.wait = FIRST;
    clearTimeout(this.polling);
    this.polling = null;
    this.become("live");
    if (again) this.tell("again", {});
  }

  broke() {
    this.source.close();
    if (this.closed) return;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(2 * this.wait, LONGEST);
    if (this.polling === null) this.poll();
  }

  /** Polls while the event stream is broken. */
  async poll() {
    try {
      const { items } = await get("/api/studies");
      this.compare(items);
      if (this.study)
        this.tell("live", { id: this.study, live: await get(`/api/study/${encodeURIComponent(this.study)}/live`) });
      this.become("polling");
    } catch {
      this.become("gone");
    }
    if (!this.closed && this.state !== "live") this.polling = setTimeout(() => this.poll(), POLL);
  }

  compare(items) {
    const now = new Map(
      items.map((item) => [item.id, `${item.updated} ${item.status} ${item.episodes} ${item.measurements}`]),
    );
    if (this.seen) {
      for (const [id, state] of now) if (this.seen.get(id) !== state) this.tell("change", { id });
      if ([...this.seen.keys()].join() !== [...now.keys()].join()) this.tell("list", {});
    }
    this.seen = now;
  }

  become(state) {
    if (this.state === state || this.closed) return;
    this.state = state;
    this.tell("state", state);
  }

  tell(kind, detail) {
    if (!this.closed) this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    return {};
  }
}
