// The mission box: checks as one types, offers what is known, sends; and the buttons that act on the robot.

import { byId, element, say, setText, show } from "./dom.js";

const CHECK_AFTER = 180;
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
    this.box.addEventListener("input", () => { this.later(); this.offer(); });
    this.box.addEventListener("focus", () => this.offer());
    this.box.addEventListener("blur", () => setTimeout(() => show("offers", false), 150));
    this.box.addEventListener("keydown", (event) => this.key(event));
    byId("send").addEventListener("click", () => this.send());
    byId("cancel").addEventListener("click", () => this.act("cancel"));
    byId("pause").addEventListener("click", () => this.act("pause", { on: !this.paused }));
    byId("reset").addEventListener("click", () => this.reset());
    byId("stop").addEventListener("click", () => this.stop());
    byId("resume").addEventListener("click", () => this.act("resume"));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.preventDefault(); this.stop(); } });
  }

  // What the robot is told

  async act(type, further = {}) {
    say("answer", "…");
    const answer = await this.ask({ type, ...further });
    say("answer", answer.message ?? (answer.ok ? "done" : "refused")).classList.toggle("bad", !answer.ok);
    return answer;
  }

  send() {
    if (byId("send").disabled) return;
    show("offers", false);
    this.act("send", { mission: this.box.value });
  }

  async reset() {
    const running = ["running", "stopped", "preparing"].includes(this.mission.phase);
    if (running && !this.sure) {
      this.sure = true;
      say("reset", "End the mission and reset?");
      setTimeout(() => { this.sure = false; say("reset", "Reset world"); }, 4000);
      return;
    }
    this.sure = false;
    say("reset", "Reset world");
    this.act("reset");
  }

  async stop() {
    if (byId("stop").disabled || byId("stop").hidden) return;
    byId("stop").classList.add("pressed");
    setTimeout(() => byId("stop").classList.remove("pressed"), 600);
    const answer = await this.act("stop");
    if (!answer.ok) this.alarm(`STOP did not get through: ${answer.message}`);
  }

  alarm(text) {
    say("alarm", text);
    show("alarm", Boolean(text));
  }

  // What can be done now

  take(mission) { this.mission = mission; this.enable(); }
  may(controls) { this.controls = controls; this.enable(); }
  pausing(paused) { this.paused = paused; say("pause", paused ? "Go on" : "Pause world"); }

  enable() {
    const { controls, mission } = this;
    const running = ["running", "stopped", "preparing"].includes(mission.phase);
    byId("send").disabled = !(controls.send && this.verdict?.ok);
    byId("cancel").disabled = !(controls.send && running);
    byId("pause").disabled = !controls.pause;
    byId("reset").disabled = !controls.reset;
    byId("stop").disabled = !controls.stop;
  }

  // Checking

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), CHECK_AFTER);
  }

  async check() {
    const number = (this.checked += 1);
    const answer = await this.ask({ type: "check", text: this.box.value });
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
    if (empty) found = this.domain.patterns.map((pattern) => ({ text: pattern.words, note: pattern.meaning, whole: true }));
    else if (word) {
      const fits = (text) => text.toLowerCase().startsWith(word.toLowerCase()) && text !== word;
      found = this.domain.propositions.filter(fits).map((text) => ({ text, note: this.domain.constraints.includes(text) ? "can be avoided" : "proposition" }));
      found.push(...WORDS.filter((text) => text.length > 1 && word.length > 1 && fits(text)).map((text) => ({ text, note: "" })));
    }
    this.offers = found.slice(0, empty ? 30 : 8);
    this.chosen = -1;
    const list = byId("offers");
    list.replaceChildren(...this.offers.map((offer, index) => this.option(offer, index)));
    show(list, this.offers.length > 0 && document.activeElement === this.box);
  }

  option(offer, index) {
    const node = element("li", { role: "option", id: `offer-${index}` }, element("code", {}, offer.text), element("span", { class: "muted" }, offer.note));
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
    this.offer();
    show("offers", false);
    this.check();
  }

  key(event) {
    const open = !byId("offers").hidden;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.send(); }
    else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const count = this.offers.length;
      this.chosen = (this.chosen + (event.key === "ArrowDown" ? 1 : -1) + count + (this.chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % count;
      [...byId("offers").children].forEach((node, index) => node.setAttribute("aria-selected", String(index === this.chosen)));
      byId("offers").children[this.chosen].scrollIntoView({ block: "nearest" });
      this.box.setAttribute("aria-activedescendant", `offer-${this.chosen}`);
    } else if (open && this.chosen >= 0 && (event.key === "Enter" || event.key === "Tab")) { event.preventDefault(); this.accept(this.chosen); }
    else if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); this.check(); }
  }
}

/** Return what a verdict says, as elements. */
function told(verdict, text) {
  if (verdict.empty) return [];
  if (!verdict.ok) {
    const parts = [element("p", { class: "bad" }, `✕ ${verdict.error}`)];
    if (verdict.position !== null && verdict.position !== undefined) parts.push(caret(verdict.text ?? text, verdict.position));
    return parts;
  }
  const parts = [element("p", { class: verdict.possible ? "good" : "warn" }, `${verdict.possible ? "✓" : "!"} ${verdict.words ?? verdict.formula ?? "a machine of its own"}`)];
  const list = element("ul", {});
  if (verdict.words && verdict.formula) list.append(element("li", {}, "formula: ", element("code", {}, verdict.formula)));
  if (verdict.reading) list.append(element("li", {}, `read as ${verdict.reading}`));
  for (const sentence of verdict.sentences.filter((each) => !/^(shortest|can fail)/.test(each))) list.append(element("li", {}, sentence));
  if (verdict.witness) list.append(element("li", {}, "succeeds by: ", trace(verdict.witness)));
  if (verdict.counterexample) list.append(element("li", {}, "fails by: ", trace(verdict.counterexample)));
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
