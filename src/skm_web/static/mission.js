// The mission box: checks as one types, offers what is known, sends; and the buttons that act on the robot.

import { byId, element, say, setText, show } from "./dom.js";
import { inTongue, t } from "./language.js";

const CHECK_AFTER = 180;
/** Milliseconds for which a question stands: long enough to read it, and what else is offered. */
const ASKED_FOR = 45000;
const DRAFT = "skm-draft", HISTORY = "skm-missions", REMEMBERED = 20;
const WORDS = ["F", "G", "X", "U", "visit", "patrol", "never", "avoid", "until", "whenever", "in order", "in sequence"];

export class MissionBox {
  constructor(ask) {
    this.ask = ask;
    this.box = byId("mission-text");
    this.domain = { propositions: [], patterns: [], constraints: [] };
    this.mission = { phase: "" };
    this.controls = {};
    this.checked = 0;
    this.chosen = -1;
    this.box.addEventListener("input", () => { this.changed(); this.offer(); });
    this.box.addEventListener("focus", () => this.offer());
    this.box.addEventListener("blur", () => this.open(false));
    this.box.addEventListener("keydown", (event) => this.key(event));
    // One line: a mission that is pasted from a file keeps its lines apart.
    this.box.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text");
      if (!text.includes("\n")) return;
      event.preventDefault();
      this.box.setRangeText(text.trim().replace(/\s*\n\s*/g, " "), this.box.selectionStart, this.box.selectionEnd, "end");
      this.changed();
    });
    this.box.value = localStorage.getItem(DRAFT) ?? "";
    byId("send").addEventListener("click", () => this.send());
    byId("send-queue").addEventListener("click", () => this.deliver("queue"));
    byId("send-add").addEventListener("click", () => this.deliver("add"));
    byId("send-no").addEventListener("click", () => this.sure?.end());
    byId("hold").addEventListener("click", () => this.act("pause_mission", { on: !this.held }));
    byId("cancel").addEventListener("click", () => this.act("cancel"));
    byId("pause").addEventListener("click", () => this.act("pause", { on: !this.paused }));
    byId("reset").addEventListener("click", () => this.reset());
    byId("resume").addEventListener("click", () => this.act("resume"));
  }

  // What the robot is told

  async act(type, further = {}) {
    say("answer", "…");
    const answer = await this.ask({ type, ...further });
    say("answer", t(answer.message ?? (answer.ok ? "done" : "refused"))).classList.toggle("bad", !answer.ok);
    this.answered = type === "send" && answer.ok;
    return answer;
  }

  /** Take back that a mission was taken: it is over, or nobody knows any more. */
  forget() {
    if (this.answered) say("answer", "");
    this.answered = false;
  }

  async send() {
    if (byId("send").disabled) return;
    this.open(false);
    if (this.running && !this.asks("send", this.question, "Send")) { this.choices(true); return; }
    this.deliver(this.running ? "replace" : "");
  }

  /** Show what else can be done with a mission while one is under way: it can wait, or join it. */
  choices(wanted) {
    for (const id of ["send-queue", "send-add"]) show(id, wanted && Boolean(this.controls.queue));
    show("send-no", wanted);
  }

  /** What a second mission comes to: one that takes the place of a paused one is not paused. */
  get question() { return this.held ? "Replace the paused one, and go?" : "Replace the running mission?"; }

  /** Send the mission; `when`: replace the one under way, queue after it, or add to it. */
  async deliver(when) {
    this.sure?.end();
    const mission = this.box.value;
    const answer = await this.act("send", { mission, when });
    if (answer.under_way) { this.asks("send", this.question, "Send"); this.choices(true); }
    if (!answer.ok) return;
    const before = JSON.parse(localStorage.getItem(HISTORY) ?? "[]").filter((text) => text !== mission);
    localStorage.setItem(HISTORY, JSON.stringify([mission, ...before].slice(0, REMEMBERED)));
  }

  get running() { return ["running", "stopped", "preparing"].includes(this.mission.phase); }

  /** Let a button ask whether it is meant; tell whether it is, by a second press before long. */
  asks(id, question, usual) {
    const button = byId(id), text = button.firstChild;
    const end = () => { this.choices(false); clearTimeout(this.sure?.timer); this.sure = null; text.textContent = `${t(usual)} `; };
    if (this.sure?.id === id) { end(); return true; }
    if (this.sure) this.sure.end();
    text.textContent = `${t(question)} `;
    this.sure = { id, end, timer: setTimeout(end, ASKED_FOR) };
    return false;
  }

  reset() {
    if (this.running && !this.asks("reset", "End the mission and reset?", "Reset world")) return;
    this.act("reset");
  }

  // What can be done now

  take(mission) {
    if (mission.outcome && mission.outcome !== this.mission.outcome) this.forget();
    this.mission = mission;
    if (!this.running) this.sure?.end();  // what was asked about is over
    this.enable();
  }
  may(controls) { this.controls = controls; this.enable(); }
  pausing(paused) { this.paused = paused; say("pause", t(paused ? "Go on" : "Pause world")); }

  /** Show what waits, and whether all of it is paused. */
  queue({ missions, paused }) {
    this.held = paused;
    const waiting = missions.filter((each) => !each.under_way), list = byId("queue");
    show(list, waiting.length > 0);
    list.replaceChildren(...waiting.map(({ number, mission }, index) => {
      const button = (sign, label, what, place) => {
        const made = element("button", { type: "button", class: "quiet", title: t(label), "aria-label": `${t(label)}: ${mission}` }, sign);
        made.addEventListener("click", () => this.act("queue", { what, number, place }));
        return made;
      };
      return element("li", {}, element("span", { class: "muted" }, t("then")), element("code", {}, mission), index ? button("↑", "sooner", "move", index) : null, button("✕", "take out", "remove", 1));
    }));
    this.waits = waiting.length > 0;
    this.enable();
  }

  enable() {
    const { controls } = this;
    say("hold", t(!this.held ? "Pause mission" : this.running ? "Resume mission" : "Go on with the next"));
    byId("hold").disabled = !(controls.queue && (this.running || (this.held && this.waits)));
    byId("send").disabled = !(controls.send && this.verdict?.ok);
    byId("cancel").disabled = !(controls.send && this.running);
    byId("pause").disabled = !controls.pause;
    byId("reset").disabled = !controls.reset;
  }

  // Checking

  /** Set the mission that is to be sent next. */
  write(text) {
    this.box.value = text;
    this.changed();
  }

  /** The text is another one: keep it, and check it when nobody types any more. */
  changed() {
    localStorage.setItem(DRAFT, this.box.value);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), CHECK_AFTER);
  }

  async check() {
    const number = (this.checked += 1), text = this.box.value;
    const answer = text.trim() ? await this.ask({ type: "check", text }) : { ok: true, verdict: { ok: false, empty: true } };
    if (number !== this.checked) return;
    this.verdict = answer.ok ? answer.verdict : { ok: false, error: answer.message };
    byId("verdict").replaceChildren(...told(this.verdict, this.box.value));
    this.box.setAttribute("aria-invalid", String(!this.verdict.ok && !this.verdict.empty));
    this.enable();
  }

  // Offers

  word() {
    const before = this.box.value.slice(0, this.box.selectionStart);
    return /[\w]*$/.exec(before)[0];
  }

  offer() {
    const word = this.word(), empty = !this.box.value.trim();
    let found = [];
    if (empty) {
      const before = JSON.parse(localStorage.getItem(HISTORY) ?? "[]").slice(0, 5);
      found = before.map((text) => ({ text, note: t("used before"), whole: true }));
      found.push(...this.domain.patterns.map((pattern) => ({ text: pattern.words, note: inTongue(pattern, "meaning"), whole: true })));
    }
    else if (word) {
      const fits = (text) => text.toLowerCase().startsWith(word.toLowerCase()) && text !== word;
      found = this.domain.propositions.filter(fits).map((text) => ({ text, note: t(this.domain.constraints.includes(text) ? "can be avoided" : "place") }));
      found.push(...WORDS.filter((text) => text.length > 1 && word.length > 1 && fits(text)).map((text) => ({ text, note: "" })));
    }
    this.offers = found.slice(0, empty ? 30 : 8);
    this.chosen = -1;
    const list = byId("offers");
    list.replaceChildren(...this.offers.map((offer, index) => this.option(offer, index)));
    this.open(this.offers.length > 0 && document.activeElement === this.box);
  }

  /** Open or close the list; it has a place of its own, and covers nothing. */
  open(wanted) {
    show("offers", wanted);
    this.box.setAttribute("aria-expanded", String(wanted));
    if (!wanted) this.choose(-1);
  }

  choose(index) {
    this.chosen = index;
    [...byId("offers").children].forEach((node, number) => node.setAttribute("aria-selected", String(number === index)));
    if (index < 0) this.box.removeAttribute("aria-activedescendant");
    else {
      this.box.setAttribute("aria-activedescendant", `offer-${index}`);
      const list = byId("below"), node = byId("offers").children[index];
      list.scrollTop = Math.max(node.offsetTop + node.offsetHeight - list.clientHeight, Math.min(list.scrollTop, node.offsetTop));
    }
  }

  option(offer, index) {
    const node = element("li", { role: "option", id: `offer-${index}`, "aria-selected": "false" }, element("code", {}, offer.text), element("span", { class: "muted" }, offer.note));
    node.addEventListener("pointerdown", (event) => { event.preventDefault(); this.accept(index); });
    return node;
  }

  accept(index) {
    const offer = this.offers[index], box = this.box;
    if (offer.whole) box.value = offer.text;
    else {
      const end = box.selectionStart, start = end - this.word().length;
      box.setRangeText(offer.text, start, end, "end");
    }
    box.focus();
    this.open(false);
    this.changed();
    this.check();
  }

  key(event) {
    const open = !byId("offers").hidden;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.send(); }
    else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const count = this.offers.length;
      this.choose((this.chosen + (event.key === "ArrowDown" ? 1 : -1) + count + (this.chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % count);
    } else if (!open && event.key === "ArrowDown") this.offer();
    else if (open && event.key === "Escape") this.open(false);
    else if (open && this.chosen >= 0 && (event.key === "Enter" || event.key === "Tab")) { event.preventDefault(); this.accept(this.chosen); }
    else if (event.key === "Enter") this.check();
  }
}

/** Return what a verdict says, as elements. */
function told(verdict, text) {
  if (verdict.empty) return [element("p", { class: "muted" }, t("Click places here or in the world; ⊘ means: never there. Or write the mission yourself."))];
  if (!verdict.ok) {
    const parts = [element("p", { class: "bad" }, `✕ ${verdict.error}`)];
    if (verdict.position !== null && verdict.position !== undefined) parts.push(caret(verdict.text ?? text, verdict.position));
    return parts;
  }
  const parts = [element("p", { class: verdict.possible ? "good" : "warn" }, `${verdict.possible ? "✓" : "!"} ${verdict.words ?? verdict.formula ?? t("a machine of its own")}`)];
  const list = element("ul", {});
  if (verdict.words && verdict.formula) list.append(element("li", {}, t("formula: "), element("code", {}, verdict.formula)));
  if (verdict.reading) list.append(element("li", { class: "exact" }, t("read as {0}", verdict.reading)));
  for (const sentence of verdict.exact) list.append(element("li", { class: "exact" }, sentence));
  for (const sentence of verdict.told) list.append(element("li", {}, sentence));
  if (verdict.witness) list.append(element("li", { class: "exact" }, t("succeeds by: "), trace(verdict.witness)));
  if (verdict.counterexample) list.append(element("li", { class: "exact" }, t("fails by: "), trace(verdict.counterexample)));
  for (const remark of verdict.remarks) list.append(element("li", { class: "warn" }, remark));
  parts.push(list);
  return parts;
}

function trace(steps) {
  return element("span", { class: "trace" }, ...steps.flatMap((labels, index) => (index ? [" → ", element("code", {}, setText(labels))] : [element("code", {}, setText(labels))])));
}

/** Return the line of a text that a position is in, with a caret under that character. */
function caret(text, position) {
  const start = text.lastIndexOf("\n", position - 1) + 1;
  const end = text.indexOf("\n", position);
  const line = text.slice(start, end < 0 ? undefined : end);
  return element("pre", { class: "caret" }, `${line}\n${" ".repeat(position - start)}^`);
}
