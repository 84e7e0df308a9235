// STOP: sent until the robot's own state says that it is stopped; where that takes too long, an alarm that stays until somebody has seen it.

import { byId, say, show } from "./dom.js";
import { t } from "./language.js";

/** Milliseconds for an answer. The alarm has to be seen within half a second: the rest is left for a busy browser. */
const ANSWER = 350;
/** Milliseconds for the robot's state to say so, after the answer: a world that waits repeats itself twice a second. */
const CONFIRM = 2500;
/** Milliseconds after which a stop that was refused, or not answered, is sent again: something between may have lost it. */
const AGAIN = 1000;
const KEPT = "skm-stop";

export class Stop {
  constructor(link, clock) {
    this.link = link;
    this.clock = clock;
    /** The stop that is not confirmed yet, and the alarm that nobody has seen yet; both survive a reload. */
    this.pending = this.raised = null;
    this.allowed = true;
    this.stopped = "";
    byId("stop").addEventListener("click", () => this.press());
    byId("seen").addEventListener("click", () => this.acknowledge());
    // In the capturing phase: whatever has the focus, and whatever else Escape means there.
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.repeat) this.press(); }, true);
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
    this.raised = kept.raised ?? null;
    if (kept.pending) { this.pending = { ...kept.pending, answered: false }; this.raise("before the page was loaded again"); }
    this.show();
  }

  /** Say whether this page may stop anything: one that only shows, or shows a recording, may not. */
  allow(may) {
    this.allowed = may;
    if (!may) this.pending = this.raised = null;
    show("stop", may);
    this.show();
  }

  /** Bring the robot to rest; pressing again sends it again. */
  press() {
    if (!this.allowed) return;
    byId("stop").classList.add("pressed");
    setTimeout(() => byId("stop").classList.remove("pressed"), 600);
    const pressed = (this.pending = { at: Date.now(), answered: false });
    setTimeout(() => { if (this.pending === pressed && !pressed.answered) this.raise(""); }, ANSWER);
    if (this.link.replaced) this.link.connect();
    this.send();
    this.show();
  }

  /** Send the stop that is not confirmed; called again for every new connection. */
  async send() {
    const pending = this.pending;
    if (!pending) return;
    clearTimeout(this.timer);
    // Where there is no connection, the next one sends it.
    if (this.link.connected) this.timer = setTimeout(() => { if (this.pending === pending && !pending.answered) this.send(); }, AGAIN);
    const answer = await this.link.ask({ type: "stop" });
    if (this.pending !== pending || pending.answered) return;
    if (!answer.ok) { this.raise(answer.message); return; }
    pending.answered = true;
    setTimeout(() => { if (this.pending === pending) this.doubt(); }, CONFIRM);
    this.confirm();
  }

  /** An answer that the robot's state does not bear out is none. */
  doubt() {
    this.pending.answered = false;
    this.raise("it was taken, but the robot does not say that it is stopped");
    this.send();
  }

  /** Take what the robot's state says: why it is stopped, or nothing. */
  state(stopped) {
    this.stopped = stopped;
    this.confirm();
  }

  confirm() {
    if (!this.pending?.answered || !this.stopped) return;
    if (this.raised) this.raised.after = Date.now() - this.pending.at;
    this.pending = null;
    this.show();
  }

  /** Raise the alarm, once for each time that it was pressed. */
  raise(why) {
    if (this.pending?.seen) return;
    this.raised = { at: this.pending?.at ?? Date.now(), why };
    this.show();
  }

  /** Somebody has seen the alarm. The stop goes on being sent: nobody has said that the robot may move. */
  acknowledge() {
    this.raised = null;
    if (this.pending) this.pending.seen = true;
    this.show();
  }

  show() {
    sessionStorage.setItem(KEPT, JSON.stringify({ pending: this.pending, raised: this.raised }));
    const { raised, pending } = this;
    show("stop-alarm", Boolean(raised));
    byId("stop-alarm").classList.toggle("late", raised?.after !== undefined);
    show("stopping", Boolean(pending) && !raised);
    if (!raised) return;
    const when = this.clock(raised.at / 1000);
    if (raised.after === undefined) {
      say("stop-failed", t("STOP DID NOT GET THROUGH: use the robot's switch"));
      say("stop-detail", t("Pressed at {0}{1}. It is sent again until the robot says that it is stopped.", when, raised.why ? ` (${t(raised.why)})` : ""));
    } else {
      say("stop-failed", t("STOP GOT THROUGH LATE: after {0} s", (raised.after / 1000).toFixed(1)));
      say("stop-detail", t("Pressed at {0}. The robot now says that it is stopped. Look whether something has happened in between.", when));
    }
  }
}
