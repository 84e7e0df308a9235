// The bar of a recording: play, pause, speed, a time line with the machine's moves on it.

import { byId, element, say, show } from "./dom.js";
import { t } from "./language.js";

export class Replay {
  constructor(ask) {
    this.ask = ask;
    this.state = null;
    byId("play").addEventListener("click", () => this.toggle());
    byId("speed").addEventListener("change", () => ask({ type: "speed", speed: Number(byId("speed").value) }));
    byId("time").addEventListener("input", () => this.seek(Number(byId("time").value)));
    byId("back").addEventListener("click", () => this.jump(-1));
    byId("on").addEventListener("click", () => this.jump(1));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  take(state) {
    this.state = state;
    show("replay", true);
    document.body.classList.add("replaying");
    say("play", t(state.playing ? "Pause" : "Play"));
    const slider = byId("time");
    slider.max = state.length;
    if (document.activeElement !== slider || state.playing) slider.value = state.position;
    say("clock", t("{0} of {1}", seconds(state.position), seconds(state.length)));
    const speed = byId("speed");
    if (document.activeElement !== speed) speed.value = String(state.speed);
    if (this.moves !== state.moves.length) {
      this.moves = state.moves.length;
      byId("moves").replaceChildren(...state.moves.slice(0, 200).map((at) => element("option", { value: at })));
    }
  }

  /** No recording is open any more. */
  close() {
    this.state = null;
    show("replay", false);
    document.body.classList.remove("replaying");
  }

  toggle() { this.ask({ type: this.state.playing ? "pause_replay" : "play" }); }
  seek(position) { this.ask({ type: "seek", position }); }

  jump(side) {
    const { moves, position } = this.state;
    const later = moves.filter((at) => at > position + 0.02), earlier = moves.filter((at) => at < position - 0.02);
    const to = side > 0 ? later[0] : earlier[earlier.length - 1];
    this.seek(to ?? (side > 0 ? this.state.length : 0));
  }

  key(event) {
    if (!this.state || event.target.matches("input[type=text], input[type=number]")) return;
    if (event.key === " " && !event.target.matches("button, select, summary")) { event.preventDefault(); this.toggle(); }
    else if (event.key === ",") this.jump(-1);
    else if (event.key === ".") this.jump(1);
  }
}

const seconds = (value) => `${Math.floor(value / 60)}:${(value % 60).toFixed(1).padStart(4, "0")}`;
