// A mission from clicks: a pattern, the places it is about, and what to avoid; written as plain words into the mission box.

import { byId, element, show } from "./dom.js";
import { t } from "./language.js";

/** What can be built: its name, how it reads, and how many places it takes at most. */
const PATTERNS = {
  visit: ["visit places", (places) => `visit ${places.join(", ")}`],
  // "in order" forbids to pass the later ones before: then a robot that begins in one is refused.
  order: ["visit in this order", (places) => `visit ${places.join(", ")}${places.length > 1 ? " in sequence" : ""}`],
  patrol: ["patrol again and again", (places) => `patrol ${places.join(", ")}`],
  within: ["visit in time", (places, bound) => `visit ${places.join(", ")} within ${bound}`],
  whenever: ["whenever one, go to the other", ([first, second]) => (second ? `whenever ${first} go to ${second}` : ""), 2],
  own: ["in my own words", null],
};

const MOST_PLACES = 12;
/** Patterns in which it matters which place comes first. */
const ORDERED = new Set(["order", "whenever"]);

export class Builder {
  /** `box` is the mission box, which the words go to. */
  constructor(box) {
    this.box = box;
    this.domain = { propositions: [], constraints: [] };
    this.events = [];
    /** Called with what is chosen, and what is to be avoided. */
    this.onShow = () => {};
    this.forget();
    byId("pattern").addEventListener("change", () => this.become());
    // Who writes goes on in own words: no click writes over them.
    box.box.addEventListener("input", () => { if (this.kind !== "own") this.choose("own"); });
    this.start = box.box.value ? "own" : "visit";
    for (const id of ["within", "unit"]) byId(id).addEventListener("input", () => this.write());
    byId("forget").addEventListener("click", () => { this.forget(); this.write(); });
    this.show();
  }

  take(domain, events) {
    this.domain = domain;
    this.events = events;
    this.show();
  }

  forget() {
    this.places = [];
    this.avoided = [];
  }

  get kind() { return byId("pattern").value || this.start; }

  /** The pattern is another one: the places stay, as many as it takes. */
  become() {
    if (this.kind === "own") this.forget();
    this.places = this.places.slice(-(PATTERNS[this.kind][2] ?? MOST_PLACES));
    this.write();
  }

  choose(kind) {
    byId("pattern").value = kind;
    this.forget();
    this.show();
  }

  /** Use a place: it comes next in the pattern; of what is there already, it goes. In one's own words it is written where the cursor is. */
  use(name) {
    if (this.kind === "own") {
      const box = this.box.box, start = box.selectionStart;
      const before = box.value.slice(0, start), gap = before && !/[\s(!]$/.test(before) ? " " : "";
      box.setRangeText(gap + name, start, box.selectionEnd, "end");
      this.box.changed();
      return;
    }
    const most = PATTERNS[this.kind][2] ?? MOST_PLACES;
    this.avoided = this.avoided.filter((each) => each !== name);
    this.places = this.places.includes(name) ? this.places.filter((each) => each !== name) : [...this.places, name].slice(-most);
    this.write();
  }

  avoid(name) {
    if (this.kind === "own") {
      const before = this.box.box.value.trim();
      this.box.write(`${before}${before ? "; " : ""}never ${name}`);
      return;
    }
    this.places = this.places.filter((each) => each !== name);
    this.avoided = this.avoided.includes(name) ? this.avoided.filter((each) => each !== name) : [...this.avoided, name];
    this.write();
  }

  write() {
    const [, words] = PATTERNS[this.kind];
    if (words) {
      const parts = this.places.length ? [words(this.places, `${byId("within").value} ${byId("unit").value}`)] : [];
      parts.push(...this.avoided.map((name) => `never ${name}`));
      this.box.write(parts.filter(Boolean).join("; "));
    }
    this.show();
  }

  show() {
    this.onShow(this.places, this.avoided);
    const kind = this.kind, list = byId("pattern");
    list.replaceChildren(...Object.entries(PATTERNS).map(([name, [title]]) => element("option", { value: name, selected: name === kind }, t(title))));
    list.value = kind;
    const unit = byId("unit").value || "steps";
    byId("unit").replaceChildren(...["steps", "s"].map((name) => element("option", { value: name }, t(name))));
    byId("unit").value = unit;
    show("bound", kind === "within");
    show("forget", kind !== "own" && this.places.length + this.avoided.length > 0);
    // Events are nothing to visit; they keep their place, so that nothing jumps.
    const names = [...this.domain.propositions, ...this.events], idle = kind === "whenever" || kind === "own" ? [] : this.events;
    byId("places").replaceChildren(...names.map((name) => this.chips(name, kind, idle.includes(name))));
  }

  chips(name, kind, idle) {
    const place = this.places.indexOf(name);
    // Its place has a width of its own: nothing moves under the pointer, beside which is "never".
    const mark = element("span", { class: "mark" }, place < 0 ? "" : ORDERED.has(kind) ? String(place + 1) : "✓");
    const chip = element("button", { type: "button", class: "chip", "data-name": name, disabled: idle, "aria-pressed": kind === "own" ? null : String(place >= 0) }, mark, name.replaceAll("_", " "));
    chip.addEventListener("mousedown", (event) => event.preventDefault());  // the cursor stays where it is
    chip.addEventListener("click", () => this.use(name));
    const pressed = this.avoided.includes(name);
    const never = element("button", { type: "button", class: "chip never", "data-avoid": name, disabled: idle, "aria-pressed": kind === "own" ? null : String(pressed), "aria-label": `${t("avoid")} ${name}`, title: `${t("avoid")} ${name}` }, "⊘");
    never.addEventListener("mousedown", (event) => event.preventDefault());
    never.addEventListener("click", () => this.avoid(name));
    return element("span", { class: "pair" }, chip, never);
  }
}
