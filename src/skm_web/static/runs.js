// The recordings of a folder: search, open, verify, download, delete and bring back.

import { byId, element, say, show } from "./dom.js";
import { inTongue, t } from "./language.js";

const GOOD = ["accepted", "satisfied so far"];
/** Outcomes that are neither success nor failure; all others are found by "failed", too. */
const UNDONE = { cancelled: "", preempted: "", "being recorded": "", unknown: "" };

export class Runs {
  constructor(ask) {
    this.ask = ask;
    this.state = null;
    byId("runs-search").addEventListener("input", () => this.show());
    byId("alone").addEventListener("click", () => this.act("compare_run", null));
    byId("all-runs").addEventListener("click", () => { location.hash = ""; });
    // The address names what is open: it can be sent to somebody, and the browser's Back closes it.
    window.addEventListener("hashchange", () => this.follow());
  }

  take(state) {
    if (!this.timer) this.ask({ type: "runs" });  // robots make new ones
    this.timer ??= setInterval(() => this.ask({ type: "runs" }), 10000);
    this.state = state;
    show("runs", true);
    document.body.classList.add("library");
    this.show();
    this.follow();
  }

  /** Open what the address names, if it is not: also after the connection was lost. */
  async follow() {
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (!this.state || this.following || this.state.open === wanted) return;
    this.following = true;
    const answer = await this.ask({ type: "open_run", file: wanted || null });
    this.following = false;
    if (answer.ok || !wanted) return;
    say("runs-answer", t(answer.message));
    location.hash = "";
  }

  async act(type, file) {
    say("runs-answer", "…");
    const answer = await this.ask({ type, file });
    say("runs-answer", answer.ok ? "" : t(answer.message));
    if (answer.ok && type === "delete_run") this.offerBack(file);
    if (answer.ok && type === "delete_run" && file === this.state.open) location.hash = "";
    return answer;
  }

  /** Offer to undo what was just done. */
  offerBack(file) {
    const undo = element("button", { type: "button", class: "quiet", id: "undo" }, t("Undo"));
    undo.addEventListener("click", () => this.act("restore_run", file));
    byId("runs-answer").replaceChildren(t("{0} is deleted.", file), " ", undo);
  }

  show() {
    if (!this.state) return;
    const { rows, bytes, open, beside, keep } = this.state;
    const wanted = byId("runs-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (row) => [day(row), ...dates(row), GOOD.includes(row.outcome) ? "" : UNDONE[row.outcome] ?? `failed ${t("failed")}`, row.mission, row.outcome, t(row.outcome), row.reason, inTongue(row, "reason"), row.words, row.domain, row.verified, row.file].join(" ").toLowerCase();
    const found = rows.filter((row) => wanted.every((word) => text(row).includes(word)));
    say("runs-facts", `${found.length === rows.length ? rows.length : `${found.length} / ${rows.length}`} · ${(bytes / 1e6).toFixed(1)} MB${keep ? ` · ${t("kept: {0}", keep)}` : ""}`);
    show("all-runs", Boolean(open));
    byId("runs-rows").replaceChildren(...found.map((row) => this.row(row, row.file === open, row.file === beside)));
    show("no-runs", rows.length === 0);
    show("none-found", rows.length > 0 && found.length === 0);
  }

  row(row, open, beside) {
    const button = (label, sign, act) => {
      const made = element("button", { type: "button", class: "quiet", title: label, "aria-label": `${label}: ${row.file}` }, sign);
      made.addEventListener("click", act);
      return made;
    };
    const mission = element("button", { type: "button", class: "link", title: row.file, "aria-current": open ? "true" : null }, row.mission || row.file);
    mission.addEventListener("click", () => { location.hash = encodeURIComponent(row.file); });
    const compare = this.state.open && !open ? button(t("compare with the open one"), "⇆", () => this.act("compare_run", row.file)) : null;
    const good = GOOD.includes(row.outcome), growing = row.outcome === "being recorded";
    const outcome = element("td", { class: good ? "good" : row.outcome in UNDONE ? null : "bad", title: row.reason }, `${good ? "✓" : growing ? "●" : "✕"} ${t(row.outcome)}`, good || growing ? null : element("p", { class: "muted" }, [inTongue(row, "reason"), row.words].filter(Boolean).join(". ")));
    const verified = row.verified ? element("td", { class: row.verified === "agrees" ? "good" : row.verified === "not satisfied" ? null : "warn" }, t(row.verified === "not satisfied" ? "agrees: not satisfied" : row.verified)) : growing ? element("td", {}, "–") : element("td", {}, button(t("verify"), t("verify"), () => this.act("verify_run", row.file)));
    const download = element("a", { href: `recordings/${encodeURIComponent(row.file)}`, download: row.file, title: t("download"), "aria-label": `${t("download")}: ${row.file}` }, "⤓");
    const actions = element("td", {}, compare, download, button(t("delete"), t("delete"), () => this.act("delete_run", row.file)));
    return element("tr", { class: open || beside ? "pursued" : null, "data-file": row.file }, element("td", {}, day(row), element("span", { class: "muted" }, ` ${row.domain ?? ""}`)), element("th", { scope: "row" }, mission), outcome, element("td", {}, row.seconds === null || row.seconds === "" ? "–" : `${Number(row.seconds).toFixed(1)} s`), verified, actions);
  }
}

/** Return the other ways in which people write the day of a run. */
function dates({ started }) {
  if (!started) return [];
  const at = new Date(started), two = (number) => String(number).padStart(2, "0");
  const [year, month, date] = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  const long = (language, order) => at.toLocaleDateString(language, order);
  return [`${year}-${two(month)}-${two(date)}`, `${date}.${month}.`, `${two(date)}.${two(month)}.`, `${month}/${date}`, long("en-GB", { day: "numeric", month: "long" }), long("en-US", { day: "numeric", month: "long", weekday: "long" }), long("de", { day: "numeric", month: "long", weekday: "long" })];
}

/** Return when a run was begun, in the time of who looks; with the words that people search for. */
function day({ started }) {
  if (!started) return "";
  const at = new Date(started), days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 864e5);
  const name = days === 0 ? t("today") : days === 1 ? t("yesterday") : at.toLocaleDateString();
  return `${name} ${at.toLocaleTimeString([], { hour12: false })}`;
}
