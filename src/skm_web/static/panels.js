// Why this action, what happened, and how the nodes are.

import { byId, element, say, setText, show } from "./dom.js";
import { inTongue, spoken, t } from "./language.js";

const OUTCOME_SIGNS = { accepted: "✓", "satisfied so far": "✓", failed: "✕", error: "✕", rejected: "✕" };

/** Show the mission of another run, beside the first. */
export function showOther(mission, words) {
  say("other-words", words?.[spoken()] ?? "");
  say("other-current", mission.text);
  say("other-progress", mission.text ? steps(mission.steps) : "");
  const outcome = say("other-outcome", ended(mission));
  outcome.className = outcomeClass(mission);
  show(outcome, Boolean(outcome.textContent));
}

function ended(mission) {
  const { outcome } = mission, reason = inTongue(mission, "reason");
  return outcome ? `${OUTCOME_SIGNS[outcome] ?? "■"} ${t(outcome)}${reason ? `: ${reason}` : ""}` : reason ? `! ${reason}` : "";
}
const outcomeClass = ({ outcome }) => (OUTCOME_SIGNS[outcome] === "✓" ? "good" : outcome ? "bad" : "warn");

/** Show the mission under way. */
export function showMission(mission, formula, words, paused) {
  const running = ["running", "stopped", "preparing"].includes(mission.phase);
  // What became of the last mission is more than that nothing is under way now.
  const over = mission.phase === "idle" && mission.outcome ? `${OUTCOME_SIGNS[mission.outcome] ?? "■"} ${t(mission.outcome)}` : "";
  const phase = say("phase", over ? over : mission.phase === "waiting" && mission.waiting_for ? t("waiting for {0}", mission.waiting_for) : t(paused && mission.phase === "stopped" ? "paused" : mission.phase));
  phase.dataset.phase = mission.phase;
  phase.dataset.outcome = over ? outcomeClass(mission) : "";
  say("words", words?.[spoken()] ?? "");
  say("current", mission.text || t("none yet"));
  byId("current").title = formula?.words ?? formula?.formula ?? "";
  say("progress", mission.text ? steps(mission.steps) : "");
  const outcome = say("outcome", running && !mission.reason ? "" : over ? inTongue(mission, "reason") : ended(mission));
  outcome.className = outcomeClass(mission);
  show(outcome, Boolean(outcome.textContent));
}

/** Show why the robot does what it does. */
export function showWhy(why, mission, names) {
  const running = ["running", "stopped"].includes(mission.phase) && why && why.goal === mission.goal;
  show("goals", Boolean(running && why.goals.length));
  if (!running) {
    say("why-step", "");
    say("why-sentence", mission.phase === "running" ? t("Going for {0}.", mission.target) : t("No mission is under way."));
    byId("why-notes").replaceChildren();
    return;
  }
  say("why-step", t("machine state {0}, step {1} · planner {2}", names[why.state] ?? why.state, why.step, mission.planner));
  const pursued = why.goals.find((goal) => goal.pursued);
  const target = pursued ? `${setText(pursued.labels)}${pursued.steps === null ? "" : t(", about {0} away", steps(pursued.steps))}` : why.target;
  say("why-sentence", why.waiting ? t("Waits for an event: nothing can be done until then.") : !pursued ? t("Goes for {0}.", target) : why.goals.length > 1 ? t("Goes for {0}: worth more than the others.", target) : t("Goes for {0}: the one goal that moves the machine on.", target));
  byId("goals").tBodies[0].replaceChildren(...why.goals.map((goal) => goalRow(goal, why.goals, names)));
  const notes = [];
  if (why.others) notes.push(note("muted", t("{0} further goals are worth less.", why.others)));
  if (why.avoid) {
    const near = why.dangers[0];
    const away = near && near.steps !== null ? t(" The nearest is {0} away.", steps(near.steps)) : t(" None is in reach.");
    notes.push(note("", element("strong", {}, t("Avoids ")), element("code", {}, why.avoid), t(": it would fail the mission."), away));
  } else notes.push(note("muted", t("Nothing can fail the mission from here.")));
  if (why.veto) notes.push(note("warn", element("strong", {}, t("Shield: ")), `${why.veto}.`));
  else if (why.lost_actions.length) notes.push(note("", element("strong", {}, t("Shield: ")), t("actions that are not taken, since the mission could only fail after them: {0}.", why.lost_actions.length)));
  if (why.vetoes) notes.push(note("muted", t("Actions of this mission that the shield has replaced: {0}.", why.vetoes)));
  byId("why-notes").replaceChildren(...notes);
}

const steps = (number) => (number === 1 ? t("1 step") : t("{0} steps", number));

function note(kind, ...children) {
  return element("li", { class: kind || null }, ...children);
}

function goalRow(goal, goals, names) {
  const most = Math.max(...goals.map((each) => each.worth), 1e-9);
  const name = element("th", { scope: "row" }, goal.pursued ? "➤ " : "", element("code", {}, setText(goal.labels)), element("span", { class: "muted" }, ` → ${names[goal.leads_to] ?? goal.leads_to}`));
  const bar = element("meter", { min: 0, max: most, value: goal.worth, "aria-label": `${t("worth")} ${goal.worth}` });
  return element("tr", { class: goal.pursued ? "pursued" : null }, name, element("td", {}, goal.steps === null ? t("out of reach") : String(goal.steps)), element("td", {}, goal.value.toFixed(3)), element("td", {}, goal.weight.toFixed(3)), element("td", {}, goal.worth.toFixed(3), bar));
}

/** The log of moves, newest first. */
export class Log {
  constructor() { this.epoch = -1; this.items = []; }

  /** Show all of it anew: in another language. */
  again(clock) { this.take({ epoch: this.epoch, from: 0, items: this.items }, clock); }

  take({ epoch, from, items }, clock) {
    const list = byId("log-lines");
    if (epoch !== this.epoch || from === 0) { this.epoch = epoch; this.items = []; list.replaceChildren(); }
    this.items = [...this.items, ...items].slice(-300);
    for (const item of items) list.prepend(logLine(item, clock));
    while (list.childElementCount > 300) list.lastChild.remove();
    show("no-log", list.childElementCount === 0);
  }
}

function logLine(item, clock) {
  const when = element("time", {}, clock(item.at));
  const step = element("span", { class: "muted" }, t("step {0}", item.step));
  const words = item.words?.[spoken()];
  if (item.kind === "began") return element("li", { class: "began" }, when, element("span", {}, `▶ ${t("mission")} `, element("code", {}, item.text)), step);
  if (item.kind === "ended") return element("li", { class: "ended" }, when, element("span", { title: item.text }, `■ ${words ?? item.text}`), step);
  const sign = { accepted: "★ ", failed: "✕ ", moved: "" }[item.kind];
  const move = element("strong", {}, `${sign}${item.from_name ?? item.from} → ${item.to_name ?? item.to}`);
  const dot = element("span", { class: "dot", "data-state": item.to % 8 });
  const because = item.because ? [t(" since "), element("code", {}, item.because), t(" held: ")] : [t(" on ")];
  const exact = element("span", { class: "exact muted" }, move, ...because, element("code", {}, setText(item.labels)));
  return element("li", { class: `${item.kind}${words ? "" : " plain"}` }, when, element("span", {}, dot, words ? element("span", { class: "said" }, `${sign}${words}`) : null, " ", exact), step);
}

/** The health of every node; who has not been heard for a while is stale. */
export function showHealth(nodes, silent) {
  const names = Object.keys(nodes).sort();
  const trouble = names.filter((name) => silent.has(name) || nodes[name].level === "error");
  show("well", trouble.length > 0);
  say("well", trouble.map((name) => (silent.has(name) ? t("{0}: nothing heard", name) : `${name}: ${inTongue(nodes[name], "message")}`)).join(" · "));
  show("no-nodes", names.length === 0);
  const open = new Set([...document.querySelectorAll("#nodes details[open]")].map((node) => node.dataset.name));
  byId("nodes").replaceChildren(...names.map((name) => nodeCard(name, nodes[name], silent.has(name), open.has(name))));
}

function nodeCard(name, node, stale, open) {
  const level = stale ? "stale" : node.level;
  const sign = { ok: "●", warning: "▲", error: "✕", stale: "◌" }[level] ?? "?";
  const facts = element("dl", {}, ...node.values.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)]));
  return element("details", { "data-name": name, "data-level": level, open: open || null }, element("summary", {}, element("span", { class: "sign" }, sign), element("strong", {}, name), ` ${stale ? t("nothing heard: gone? Last: {0}", inTongue(node, "message")) : inTongue(node, "message")}`), facts);
}
