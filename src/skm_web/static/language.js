// The page's own words: English as they are written, German as a second language. What is said of a mission comes from the server, in both.

const GERMAN = {
  "To the mission": "Zur Mission", "connecting …": "verbindet …", "light or dark": "hell oder dunkel", "Let the robot go": "Roboter freigeben",
  "bring the robot to rest and keep it there": "den Roboter anhalten und festhalten", "I have seen it": "Gesehen",
  "STOP": "STOPP",
  "STOP is being sent until the robot says that it is stopped.": "STOPP wird gesendet, bis der Roboter sagt, dass er steht.",
  "STOP DID NOT GET THROUGH: use the robot's switch": "STOPP KAM NICHT DURCH: den Schalter am Roboter benutzen", "STOP GOT THROUGH LATE: after {0} s": "STOPP KAM SPÄT DURCH: nach {0} s",
  "Pressed at {0}{1}. It is sent again until the robot says that it is stopped.": "Gedrückt um {0}{1}. Er wird wieder gesendet, bis der Roboter sagt, dass er steht.",
  "Pressed at {0}. The robot now says that it is stopped. Look whether something has happened in between.": "Gedrückt um {0}. Der Roboter sagt jetzt, dass er steht. Nachsehen, ob inzwischen etwas geschehen ist.",
  "before the page was loaded again": "bevor die Seite neu geladen wurde", "it was taken, but the robot does not say that it is stopped": "er wurde angenommen, aber der Roboter sagt nicht, dass er steht",
  "The robot is stopped: {0}": "Der Roboter steht: {0}", "Mission": "Mission", "World": "Welt", "Here now:": "Hier und jetzt:", "nothing": "nichts", "Machine": "Automat",
  "Dotted: a guess. Learned skills choose each step as they go.": "Gepunktet: vermutet. Gelernte Fertigkeiten wählen jeden Schritt erst unterwegs.",
  "events: what the robot does not control": "Ereignisse: was der Roboter nicht bestimmt", "the world from above": "die Welt von oben", "picture of the world": "Bild der Welt",
  "No shapes of the world yet. Start the system with": "Noch keine Formen der Welt. Das System starten mit", "Next mission": "Nächste Mission", "within": "binnen", "unit": "Einheit", "Begin again": "Neu beginnen",
  "places: a click uses one in the mission": "Orte: ein Klick nimmt einen in die Mission", "Mission, in plain words or as a formula": "Mission, in Worten oder als Formel",
  "Send": "Senden", "Cancel mission": "Mission abbrechen", "Pause world": "Welt anhalten", "Go on": "Weiter", "Reset world": "Welt zurücksetzen", "End the mission and reset?": "Mission beenden und zurücksetzen?",
  "Replace the running mission?": "Laufende Mission ersetzen?", "Replace the paused one, and go?": "Ersetzen und losfahren?", "Leave it": "So lassen", "← All recordings": "← Alle Aufnahmen", "yesterday failed": "gestern gescheitert", "No recording fits these words.": "Zu diesen Worten passt keine Aufnahme.", "what the mission means": "was die Mission bedeutet", "suggestions": "Vorschläge", "What happened": "Was geschah", "What the robot reaches is listed here.": "Was der Roboter erreicht, steht hier.",
  "For experts: the mission's machine, values, nodes": "Für Fachleute: Automat der Mission, Werte, Knoten", "the mission's machine": "der Automat der Mission", "The machine of a mission shows here, once there is one.": "Der Automat einer Mission zeigt sich hier, sobald es einen gibt.",
  "here now": "jetzt hier", "way so far": "Weg bisher", "next move": "nächster Zug", "✓ success": "✓ Erfolg", "✕ failure": "✕ Scheitern", "Why this action": "Warum diese Handlung", "Goals in play": "Ziele im Spiel",
  "goal": "Ziel", "steps away": "Schritte", "value": "Wert", "weight": "Gewicht", "worth": "Nutzen", "Nodes": "Knoten", "Nothing was heard from any node yet.": "Noch kein Knoten hat sich gemeldet.",
  "to the move before (,)": "zum Zug davor (,)", "⇤ move": "⇤ Zug", "time in the recording": "Zeit in der Aufnahme", "to the next move (.)": "zum nächsten Zug (.)", "move ⇥": "Zug ⇥", "speed": "Tempo", "Play": "Abspielen", "Pause": "Anhalten",
  "live": "live", "recording": "Aufnahme", "live, read-only": "live, nur Ansicht", "connection lost: as of {0}": "Verbindung verloren: Stand {0}", "closed: too many pages are open on this device; reload to use this one": "geschlossen: zu viele Seiten auf diesem Gerät; neu laden, um diese zu benutzen",
  "stale: nothing heard from the world yet": "veraltet: noch nichts von der Welt gehört", "stale: nothing heard from the world since {0}": "veraltet: nichts von der Welt gehört seit {0}",
  "none yet": "noch keine", "waiting": "wartet", "idle": "bereit", "preparing": "plant", "running": "läuft", "stopped": "steht", "waiting for {0}": "wartet auf {0}", "{0} steps": "{0} Schritte", "step {0}": "Schritt {0}", "mission": "Mission",
  "in my own words": "in eigenen Worten", "visit places": "Orte besuchen", "visit in this order": "in dieser Reihenfolge besuchen", "patrol again and again": "immer wieder besuchen", "visit in time": "rechtzeitig besuchen", "whenever one, go to the other": "wann immer das eine, zum anderen",
  "Places out of service:": "Orte außer Betrieb:", "none": "keine", "places: press to take one out of service, or to put it back": "Orte: drücken, um einen außer Betrieb zu nehmen oder zurückzugeben",
  "After it": "Danach", "Together with it": "Dazu", "Pause mission": "Mission anhalten", "Resume mission": "Mission fortsetzen", "Go on with the next": "Weiter mit der nächsten", "paused": "angehalten", "missions that wait": "Missionen, die warten", "then": "dann", "sooner": "früher", "take out": "herausnehmen", "An assistant proposes:": "Ein Assistent schlägt vor:", "Run it": "Ausführen", "No": "Nein", "compare with the open one": "mit der offenen vergleichen", "kept: {0}": "behalten: {0}", "seconds": "Sekunden", "Close": "Schließen", "The other mission": "Die andere Mission", "the world of the other run from above": "die Welt des anderen Laufs von oben", "This recording has no shapes of the world.": "Diese Aufnahme hat keine Formen der Welt.", "There is no recording in this folder yet.": "In diesem Ordner ist noch keine Aufnahme.",
  "← The robot": "← Der Roboter", "Recordings": "Aufnahmen", "recordings": "Aufnahmen", "search recordings": "Aufnahmen durchsuchen", "when": "wann", "outcome": "Ausgang", "verified": "geprüft", "actions": "Handlungen", "verify": "prüfen", "download": "herunterladen", "delete": "löschen", "Undo": "Rückgängig", "{0} is deleted.": "{0} ist gelöscht.", "today": "heute", "yesterday": "gestern",
  "Going for {0}.": "Unterwegs zu {0}.", "No mission is under way.": "Keine Mission ist im Gang.", "machine state {0}, step {1} · planner {2}": "Zustand {0} des Automaten, Schritt {1} · Planer {2}", ", about {0} away": ", etwa {0} entfernt", "1 step": "1 Schritt",
  "Waits for an event: nothing can be done until then.": "Wartet auf ein Ereignis: bis dahin ist nichts zu tun.", "Goes for {0}.": "Geht zu {0}.", "Goes for {0}: worth more than the others.": "Geht zu {0}: mehr wert als die anderen.", "Goes for {0}: the one goal that moves the machine on.": "Geht zu {0}: das einzige Ziel, das den Automaten weiterbringt.",
  "{0} further goals are worth less.": "{0} weitere Ziele sind weniger wert.", " The nearest is {0} away.": " Das Nächste davon ist {0} entfernt.", " None is in reach.": " Nichts davon ist in Reichweite.", "Avoids ": "Meidet ", ": it would fail the mission.": ": damit wäre die Mission gescheitert.", "Nothing can fail the mission from here.": "Von hier aus kann nichts die Mission scheitern lassen.",
  "Shield: ": "Schutzschild: ", "actions that are not taken, since the mission could only fail after them: {0}.": "Handlungen, die unterbleiben, weil die Mission danach nur noch scheitern könnte: {0}.", "Actions of this mission that the shield has replaced: {0}.": "Handlungen dieser Mission, die der Schutzschild ersetzt hat: {0}.",
  "out of reach": "außer Reichweite", " since ": ", denn ", " held: ": " galt: ", " on ": " durch ", "nothing heard: gone? Last: {0}": "nichts gehört: weg? Zuletzt: {0}", "shapes": "Formen", "picture": "Bild", "{0} steps a second": "{0} Schritte je Sekunde", "waits for each action": "wartet auf jede Handlung", "the episode has ended": "die Episode ist zu Ende",
  "episode {0}, step {1}": "Episode {0}, Schritt {1}", "all states": "alle Zustände", "drawing …": "zeichnet …", "fold": "falten", "The machine cannot be shown: {0}": "Der Automat lässt sich nicht zeigen: {0}", "{0} of {1} states: the rest is folded": "{0} von {1} Zuständen: der Rest ist gefaltet", "{0} states": "{0} Zustände", "{0} of {1}": "{0} von {1}",
  "a machine of its own": "ein eigener Automat", "formula: ": "Formel: ", "read as {0}": "gelesen als {0}", "succeeds by: ": "gelingt durch: ", "fails by: ": "scheitert durch: ", "zoom in": "vergrößern", "zoom out": "verkleinern", "show all": "alles zeigen", "true": "wahr", "false": "falsch", "not set: {0}": "nicht gesetzt: {0}", "done": "erledigt", "refused": "abgelehnt",
  "accepted": "erfüllt", "failed": "gescheitert", "cancelled": "abgebrochen", "preempted": "verdrängt", "timed out": "Zeit abgelaufen", "rejected": "abgelehnt", "error": "Fehler", "no progress": "kein Fortschritt", "satisfied so far": "bisher erfüllt", "unknown": "unbekannt", "unreadable": "unlesbar", "being recorded": "wird aufgenommen", "agrees": "stimmt überein", "agrees: not satisfied": "stimmt überein: nicht erfüllt",
  "Click places here or in the world; ⊘ means: never there. Or write the mission yourself.": "Orte hier oder in der Welt anklicken; ⊘ heißt: nie dorthin. Oder die Mission selbst schreiben.", "begin again": "neu beginnen", 
 
 
 
  "there is no connection to the server": "keine Verbindung zum Server", "the connection to the server was lost": "die Verbindung zum Server ist verloren",
  "s": "s", "steps": "Schritte", "avoid": "meiden", "Places": "Orte", "Never": "Nie", "all nodes well": "alle Knoten wohlauf", "{0}: nothing heard": "{0}: nichts gehört", "used before": "schon benutzt", "can be avoided": "kann gemieden werden", "place": "Ort",
};

let language = localStorage.getItem("skm-language") ?? (navigator.language.startsWith("de") ? "de" : "en");

/** Take the German of another page's texts. */
export const teach = (german) => Object.assign(GERMAN, german);

/** Return the language that is spoken. */
export const spoken = () => language;

/** Return what an entry says under a name, in the language that is spoken, if it says it in that, too. */
export const inTongue = (entry, name) => entry[`${name}_${language}`] ?? entry[name];

/** Return a text of the page in the language that is spoken; {0}, {1} are filled in. */
export function t(text, ...parts) {
  const found = language === "de" ? GERMAN[text] ?? text : text;
  return found.replace(/\{(\d)\}/g, (_, number) => parts[Number(number)]);
}

/** Say the texts of the document itself in the language that is spoken. */
export function translate(root = document) {
  document.documentElement.lang = language;
  for (const node of root.querySelectorAll("[data-t]")) {
    for (const name of ["title", "aria-label", "alt", "placeholder"]) {
      if (!node.hasAttribute(name)) continue;
      node.dataset[`en${name.replace("-", "")}`] ??= node.getAttribute(name);
      node.setAttribute(name, t(node.dataset[`en${name.replace("-", "")}`]));
    }
    const text = [...node.childNodes].find((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());
    if (!text) continue;
    node.dataset.en ??= text.textContent.trim();
    text.textContent = t(node.dataset.en) + (node.childElementCount ? " " : "");
  }
}

/** Let a button switch between the languages; what is shown is then shown anew. */
export function offerLanguages(button, again) {
  const show = () => {
    const other = language === "de" ? ["EN", "English", "en"] : ["DE", "Deutsch", "de"];
    [button.textContent, button.title, button.lang] = other;
    button.setAttribute("aria-label", other[1]);
    translate();
  };
  button.addEventListener("click", () => {
    language = language === "de" ? "en" : "de";
    localStorage.setItem("skm-language", language);
    show();
    again();
  });
  show();
}
