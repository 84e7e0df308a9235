"""What skm says to people, in German: sentences by their English form, with gaps.

The sentences about a mission under way come from the catalogue (`skm_primitives.execution.phrases`),
the page's own words from its script. What is left are texts that are made elsewhere, as errors are:
what commands report, why a mission cannot be read or done, why the robot is stopped. They are
recognised here by their English form, as in gettext. What is not recognised stays English.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from skm_primitives.execution.phrases import ENGLISH, GERMAN

OUTCOMES: Final = (
    *("accepted", "outcome failed", "cancelled", "preempted", "timed out", "rejected", "error"),
    *("no progress", "satisfied so far"),
)
"""Keys of the catalogue that are told alone, too."""

SENTENCES: Final[dict[str, str]] = {
    **{ENGLISH[key]: GERMAN[key] for key in OUTCOMES},
    # What a mission means. A gap in small letters stays as it is, one in capitals is a sentence, too.
    "1 state over {a}": "1 Zustand über {a}",
    "{n} states over {a}": "{n} Zustände über {a}",
    "{n} of its {m} states, the others cannot be reached, over {a}": (
        "{n} seiner {m} Zustände, die anderen sind nicht erreichbar, über {a}"
    ),
    "{n} parts of {m} states (one machine would have {k}) over {a}": (
        "{n} Teile mit {m} Zuständen (ein Automat hätte {k}) über {a}"
    ),
    "unsatisfiable: no trace can ever succeed": "unerfüllbar: kein Verlauf kann je gelingen",
    "has no end: every completed round counts 1": "hat kein Ende: jede vollendete Runde zählt 1",
    "may commit in {u}, to be in {v}: {C}": "kann sich in {u} festlegen, ist dann in {v}: {C}",
    "always {a}": "immer {a}",
    "only what {u} asks for": "nur was {u} verlangt",
    "{a}, again and again": "{a}, immer wieder",
    "success is for good (co-safe): nothing that follows could undo it": (
        "Erfolg gilt für immer: nichts, was folgt, macht ihn rückgängig"
    ),
    "success is 'so far': the mission ends at its first accepting step": (
        "Erfolg gilt „bisher“: die Mission endet beim ersten Schritt, der sie erfüllt"
    ),
    "cannot fail: success stays possible whatever happens": (
        "kann nicht scheitern: was auch geschieht, Erfolg bleibt möglich"
    ),
    "what the events {a} can do to it is not worked out for a mission in parts": (
        "was die Ereignisse {a} ihr tun können, wird für eine Mission in Teilen nicht bestimmt"
    ),
    "seconds are judged by the clock: ticks of it are steps of the machine": (
        "über Sekunden urteilt die Uhr: ihr Ticken sind Schritte des Automaten"
    ),
    "{a}: the window of '{b}' is over, {n} after it was asked for": (
        "{a}: das Zeitfenster von „{b}“ ist vorbei, {n} nachdem danach verlangt wurde"
    ),
    "{a}: the window of '{b}' opens, {n} after it was asked for": (
        "{a}: das Zeitfenster von „{b}“ öffnet sich, {n} nachdem danach verlangt wurde"
    ),
    "{a} can make it fail whatever the robot does: {B}": (
        "{a} kann sie scheitern lassen, was der Roboter auch tut: {B}"
    ),
    "{a} can make it fail whatever the robot does, from every place: {B}": (
        "{a} kann sie von jedem Ort aus scheitern lassen, was der Roboter auch tut: {B}"
    ),
    "{a} can make it fail whatever the robot does, from {n} of {m} places: {B}": (
        "{a} kann sie von {n} der {m} Orte aus scheitern lassen, was der Roboter auch tut: {B}"
    ),
    "no event can make it fail {W}, of: {a}": "kein Ereignis kann sie scheitern lassen, {W}: {a}",
    "no other event alone can make it fail {W}, of: {a}": (
        "kein anderes Ereignis allein kann sie scheitern lassen, {W}: {a}"
    ),
    "from any place where it can be begun": "von jedem Ort, wo sie begonnen werden kann",
    "from any place where it can be begun, if actions lead where they do as a rule": (
        "von jedem Ort, wo sie begonnen werden kann, wenn Handlungen führen, wohin sie es meist tun"
    ),
    "where the robot shows what its skills achieve": (
        "wo der Roboter zeigt, was seine Fertigkeiten erreichen"
    ),
    "if the robot could show any labels (--domain says what it can do)": (
        "wenn der Roboter alles zeigen könnte (--domain sagt, was er kann)"
    ),
    "it can be achieved from {n} of {m} places": "von {n} der {m} Orte aus ist sie zu erfüllen",
    "the robot waits for an event in {a}, where it can do nothing else": (
        "in {a} wartet der Roboter auf ein Ereignis, anderes kann er dort nicht tun"
    ),
    "no skill was learned to avoid {a}: the robot may touch it on its way": (
        "keine Fertigkeit hat gelernt, {a} zu meiden: der Roboter kann unterwegs daran geraten"
    ),
    "{A} ; then {b}, and so forever": "{A} ; dann {b}, und so für immer",
    "{a}, and so forever": "{a}, und so für immer",
    "shortest success:  {a}": "kürzester Erfolg:  {a}",
    "shortest round:    {a}": "kürzeste Runde:    {a}",
    "a success:         {a}": "ein Erfolg:        {a}",
    "a round:           {a}": "eine Runde:        {a}",
    "shortest failure:  {a}": "kürzestes Scheitern:  {a}",
    "shortest failure:  {a}  (from some places, what is left is too far then)": (
        "kürzestes Scheitern:  {a}  (von manchen Orten aus ist der Rest dann zu weit)"
    ),
    "can fail by:       {A}": "kann scheitern an:    {A}",
    "{A}  or  {B}": "{A}  oder  {B}",
    "in words: {a}": "in Worten: {a}",
    "read as {W}": "gelesen als {W}",
    "the other reading, {W}": "die andere Lesart, {W}",
    "horizon finite: over at the first step at which all that came so far satisfies it": (
        "horizon finite: vorbei beim ersten Schritt, bei dem alles Bisherige sie erfüllt"
    ),
    "horizon finite: over after the first step that does nothing wrong": (
        "horizon finite: vorbei nach dem ersten Schritt, der nichts falsch macht"
    ),
    "horizon infinite: judged over the whole of an endless run, and what it forbids stays forbidden": (
        "horizon infinite: beurteilt über einen Lauf ohne Ende, und was sie verbietet, bleibt verboten"
    ),
    "state": "Zustand",
    "reach": "Ziel",
    "avoid": "meidet",
    "then": "dann",
    "steps": "Schritte",
    "value": "Wert",
    "… and {n} more states; --json gives more of them": (
        "… und {n} weitere Zustände; --json nennt mehr davon"
    ),
    "trace satisfied": "der Verlauf erfüllt sie",
    "trace not satisfied": "der Verlauf erfüllt sie nicht",
    "{A}; a robot would have succeeded, and ended, at step {n}": (
        "{A}; ein Roboter hätte bei Schritt {n} Erfolg gehabt und geendet"
    ),
    "trace satisfied so far; rounds completed: {n}": (
        "der Verlauf erfüllt sie bisher; vollendete Runden: {n}"
    ),
    "trace not satisfied so far; rounds completed: {n}": (
        "der Verlauf erfüllt sie bisher nicht; vollendete Runden: {n}"
    ),
    "{A}; succeeded after {n} step": "{A}; Erfolg nach {n} Schritt",
    "{A}; succeeded after {n} steps": "{A}; Erfolg nach {n} Schritten",
    "planned from where `skm run` begins: {W} ({n} s)": (
        "geplant von dort, wo `skm run` beginnt: {W} ({n} s)"
    ),
    "first round planned from where `skm run` begins: {W} ({n} s)": (
        "erste Runde geplant von dort, wo `skm run` beginnt: {W} ({n} s)"
    ),
    "{n} steps, the fewest possible": "{n} Schritte, so wenige wie möglich",
    "{n} steps, at least {m}": "{n} Schritte, mindestens {m}",
    "on this map: {a} on average, {n} s at {m} m/s": (
        "auf dieser Karte: {a} im Mittel, {n} s bei {m} m/s"
    ),
    "from {a} to {b}; it can be done from {W}": "von {a} bis {b}; zu erfüllen von {W}",
    "every cell": "jeder Zelle",
    "{n} % of all cells": "{n} % aller Zellen",
    "its deadlines can be met at that speed from {n} % of the starts that were tried": (
        "ihre Fristen sind bei dieser Geschwindigkeit von {n} % der geprüften Anfänge einzuhalten"
    ),
    # What commands report of a run.
    "step {n}": "Schritt {n}",
    "step {n} state {m}": "Schritt {n} Zustand {m}",
    "round {n}": "Runde {n}",
    "round {n} step {m}": "Runde {n} Schritt {m}",
    "in {n} step": "in {n} Schritt",
    "in {n} steps": "in {n} Schritten",
    "planned: {n} step, {B}": "geplant: {n} Schritt, {B}",
    "planned: {n} steps, {B}": "geplant: {n} Schritte, {B}",
    "the fewest possible": "so wenige wie möglich",
    "at least {n}": "mindestens {n}",
    "{A} after {n} step": "{A} nach {n} Schritt",
    "{A} after {n} steps": "{A} nach {n} Schritten",
    "{A}, {n} round completed": "{A}, {n} Runde vollendet",
    "{A}, {n} rounds completed": "{A}, {n} Runden vollendet",
    "after {n} steps, {s} s": "nach {n} Schritten, {s} s",
    "({n} steps/s)": "({n} Schritte/s)",
    "completed at step {n}": "vollendet bei Schritt {n}",
    "… {n} earlier transitions": "… {n} frühere Übergänge",
    "picture of the run: {a}": "Bild des Laufs: {a}",
    "no skill was learned to avoid '{a}'": "keine Fertigkeit hat gelernt, „{a}“ zu meiden",
    # What commands report of a system.
    "skills": "Fertigkeiten",
    "{n} goals": "{n} Ziele",
    "checkpoint {a}": "Checkpoint {a}",
    "phase": "Phase",
    "ok": "in Ordnung",
    "warning": "Warnung",
    "stale": "veraltet",
    "silent": "still",
    "not running": "läuft nicht",
    "waiting": "wartet",
    "preparing": "bereitet vor",
    "stopped": "angehalten",
    "no mission yet": "noch keine Mission",
    "the last mission, {a}, {B} after {n} steps": "die letzte Mission, {a}, {B} nach {n} Schritten",
    "events": "Ereignisse",
    "true": "wahr",
    "false": "falsch",
    "{a} is true from step {n} of the mission on ({B})": (
        "{a} ist wahr ab Schritt {n} der Mission ({B})"
    ),
    "{a} is false from step {n} of the mission on ({B})": (
        "{a} ist falsch ab Schritt {n} der Mission ({B})"
    ),
    "episode {n}, step {m} of the world": "Episode {n}, Schritt {m} der Welt",
    "this system has no events; `skm up … --events NAME,NAME` declares them": (
        "dieses System hat keine Ereignisse; `skm up … --events NAME,NAME` nennt sie"
    ),
    "refused: {W}": "abgelehnt: {W}",
    "under way": "im Gang",
    "priority {n}": "Vorrang {n}",
    "nothing is under way, and nothing waits": "nichts ist im Gang, und nichts wartet",
    "{a}: out of service": "{a}: außer Betrieb",
    "{a}: out of service ({b})": "{a}: außer Betrieb ({b})",
    "every place is in service": "jeder Ort ist in Betrieb",
    "the queue is full: {n} missions wait": "die Warteschlange ist voll: {n} Missionen warten",
    "interrupted": "unterbrochen",
    # How it is read.
    "a recurring mission: {W}": "eine wiederkehrende Mission: {W}",
    "a mission with an end: {W}": "eine Mission mit einem Ende: {W}",
    "as asked for (horizon {a})": "wie verlangt (horizon {a})",
    "{W} (by its form: it is too large to be read by the runs that satisfy it)": (
        "{W} (nach ihrer Form: für die Läufe, die sie erfüllen, ist sie zu groß)"
    ),
    "'{a}' says something about every future": "„{a}“ sagt etwas über jede Zukunft",
    "at no step can it be told whether it is satisfied so far": (
        "bei keinem Schritt lässt sich sagen, ob sie bisher erfüllt ist"
    ),
    "it can be fulfilled once, and says nothing about every future": (
        "sie kann einmal erfüllt werden und sagt nichts über jede Zukunft"
    ),
    "it says what must hold, and nothing that is to be brought about": (
        "sie sagt, was gelten muss, und nichts, das zu bewirken wäre"
    ),
    "after a step that shows nothing, it only says what must hold": (
        "nach einem Schritt, der nichts zeigt, sagt sie nur, was gelten muss"
    ),
    # Why it cannot be read.
    "the mission is empty": "die Mission ist leer",
    "a mission has at most {n} characters here": "eine Mission hat hier höchstens {n} Zeichen",
    "nothing follows '{a}'": "nach „{a}“ folgt nichts",
    "this '(' is never closed": "diese „(“ wird nie geschlossen",
    "this ')' closes nothing": "diese „)“ schließt nichts",
    "this {a} is never closed": "dieses {a} wird nie geschlossen",
    "nested more than {n} deep": "mehr als {n}-fach verschachtelt",
    "nested more than {n} deep, where each step of a bound counts": (
        "mehr als {n}-fach verschachtelt, wobei jeder Schritt einer Schranke zählt"
    ),
    "bounds within bounds: written out, too long": (
        "Schranken in Schranken: ausgeschrieben zu lang"
    ),
    "more than {n} steps in bounds": "mehr als {n} Schritte in Schranken",
    "a bound such as '{a}' stands behind one of {b}": (
        "eine Schranke wie „{a}“ steht hinter einem von {b}"
    ),
    "expected an operator before '{a}'; write '{b}'": (
        "vor „{a}“ fehlt ein Operator; zu schreiben ist „{b}“"
    ),
    "expected an operator before '{a}', such as '&'": (
        "vor „{a}“ fehlt ein Operator, zum Beispiel „&“"
    ),
    "expected a proposition after '{a}', not '{b}'": (
        "nach „{a}“ wird ein Ort oder eine Aussage erwartet, nicht „{b}“"
    ),
    "expected a proposition at the start, not '{a}'": (
        "am Anfang wird ein Ort oder eine Aussage erwartet, nicht „{a}“"
    ),
    "unexpected character {a}": "unerwartetes Zeichen {a}",
    "a proposition's name cannot start with a digit: '{a}'": (
        "ein Name kann nicht mit einer Ziffer beginnen: „{a}“"
    ),
    "unknown proposition '{a}'; did you mean '{b}'? Known: {c}.": (
        "„{a}“ gibt es hier nicht; ist „{b}“ gemeint? Bekannt: {c}."
    ),
    "unknown proposition '{a}'. Known: {c}.": "„{a}“ gibt es hier nicht. Bekannt: {c}.",
    "unknown proposition '{a}' ('{b}' reads '{d}', as in Spot); did you mean '{e}'? Known: {c}.": (
        "„{a}“ gibt es hier nicht („{b}“ liest sich als „{d}“, wie in Spot); ist „{e}“ gemeint?"
        " Bekannt: {c}."
    ),
    "unknown proposition '{a}' ('{b}' reads '{d}', as in Spot). Known: {c}.": (
        "„{a}“ gibt es hier nicht („{b}“ liest sich als „{d}“, wie in Spot). Bekannt: {c}."
    ),
    "this number has too many digits": "diese Zahl hat zu viele Ziffern",
    "the mission has {n} characters; at most {m} are read ({a})": (
        "die Mission hat {n} Zeichen; gelesen werden höchstens {m} ({a})"
    ),
    "the mission's machine grows too large: {W}": "der Automat der Mission wird zu groß: {W}",
    "'{a}' is not a bound: write it {W}": "„{a}“ ist keine Schranke: man schreibt sie {W}",
    "as in F[0,5] a (steps), F[0s,3s] a (seconds) or F[2,] a (no upper bound)": (
        "wie in F[0,5] a (Schritte), F[0s,3s] a (Sekunden) oder F[2,] a (nach oben offen)"
    ),
    "X takes one number of steps, as in X[3] a": "X nimmt eine Zahl von Schritten, wie in X[3] a",
    "write {a} for 'within {n}', or {b}": "für „binnen {n}“ schreibt man {a}, oder {b}",
    "{a} is not a number of steps; write {b} for seconds": (
        "{a} ist keine Zahl von Schritten; für Sekunden schreibt man {b}"
    ),
    "there is no clock: nothing says how long a step takes here. Write the bound in steps, as in"
    " F[0,5] a": (
        "es gibt keine Uhr: nichts sagt, wie lange hier ein Schritt dauert. Die Schranke in Schritten"
        " schreiben, wie in F[0,5] a"
    ),
    "unknown unit '{a}'. Known: {b}; steps have none": (
        "unbekannte Einheit „{a}“. Bekannt: {b}; Schritte haben keine"
    ),
    "a bound of {n} seconds is too long: at most a year": (
        "eine Schranke von {n} Sekunden ist zu lang: höchstens ein Jahr"
    ),
    "a bound of {n} steps is too long: at most {m}": (
        "eine Schranke von {n} Schritten ist zu lang: höchstens {m}"
    ),
    "the first number of a bound must not be above the second": (
        "die erste Zahl einer Schranke darf nicht über der zweiten liegen"
    ),
    "'{a}' reads as temporal logic: write the proposition in quotes, or the mission as a formula": (
        "„{a}“ liest sich als temporale Logik: den Namen in Anführungszeichen setzen oder eine Formel"
        " schreiben"
    ),
    "no clause begins with '{a}'. Known: {b}.": "keine Klausel beginnt mit „{a}“. Bekannt: {b}.",
    "no clause begins with '{a}'; did you mean '{c}'? Known: {b}.": (
        "keine Klausel beginnt mit „{a}“; ist „{c}“ gemeint? Bekannt: {b}."
    ),
    "only visits in any order can be 'within' a time": (
        "nur Besuche in beliebiger Reihenfolge können „within“ einer Zeit sein"
    ),
    "'then' comes after a place, without a comma: 'visit A then B'": (
        "„then“ steht nach einem Ort, ohne Komma: „visit A then B“"
    ),
    "a patrol goes round: write 'in sequence' or 'in order' for 'then'": (
        "eine Runde geht im Kreis: „in sequence“ oder „in order“ schreiben statt „then“"
    ),
    "'exactly when' needs an end: at once, or in the next step": (
        "„exactly when“ braucht ein Ende: sofort („at once“) oder im nächsten Schritt"
    ),
    "say how often for each place alone, with ';' between them": (
        "wie oft, für jeden Ort einzeln sagen, mit „;“ dazwischen"
    ),
    "at least 0 times is not a mission": "mindestens nullmal ist keine Mission",
    "expected a unit of time after '{a}'. Known: {b}.": (
        "nach „{a}“ wird eine Zeiteinheit erwartet. Bekannt: {b}."
    ),
    "expected a unit of time after '{a}'; did you mean '{c}'? Known: {b}.": (
        "nach „{a}“ wird eine Zeiteinheit erwartet; ist „{c}“ gemeint? Bekannt: {b}."
    ),
    "more than {n} places": "mehr als {n} Orte",
    "'{a}' stands between two places: write {W}": (
        "„{a}“ steht zwischen zwei Orten: zu schreiben ist {W}"
    ),
    "'then' for what comes after it, ';' for a clause of its own": (
        "„then“ für das, was danach kommt, „;“ für eine eigene Klausel"
    ),
    "expected something between '{a}' and '{b}', such as ',' or 'then'": (
        "zwischen „{a}“ und „{b}“ fehlt etwas, zum Beispiel „,“ oder „then“"
    ),
    "expected something between '{a}' and '{b}' (did you mean '{c}'?)": (
        "zwischen „{a}“ und „{b}“ fehlt etwas (ist „{c}“ gemeint?)"
    ),
    "{B}, not the end": "{B}, nicht das Ende",
    "{B}, not {a}": "{B}, nicht {a}",
    "expected a place": "ein Ort wird erwartet",
    "expected a place after '{a}'": "nach „{a}“ wird ein Ort erwartet",
    "expected {a}, as in '{b}'": "erwartet wird {a}, wie in „{b}“",
    "{A} one of: {b}; not {C}.": "{A} einem von: {b}; nicht {C}.",
    "{A} one of: {b}; not {C}; did you mean '{d}'?": "{A} einem von: {b}; nicht {C}; ist „{d}“ gemeint?",
    "{a} goes on with": "{a} geht weiter mit",
    "a reaction ends with": "eine Reaktion endet mit",
    "places are visited": "Orte werden besucht mit",
    "how often is said with": "wie oft, sagt man mit",
    "expected a whole number up to {n}, as in '{b}'": (
        "erwartet wird eine ganze Zahl bis {n}, wie in „{b}“"
    ),
    "the end": "dem Ende",
    "the clause ends here: expected ';', or {a} before '{b}'": (
        "die Klausel endet hier: erwartet wird „;“, oder {a} vor „{b}“"
    ),
    "the clause ends here: expected ';'": "die Klausel endet hier: erwartet wird „;“",
    # Why it cannot be done.
    "the mission cannot be achieved: {W}": "die Mission ist nicht zu erfüllen: {W}",
    "nothing that the robot can do keeps '{a}' for ever": (
        "nichts, was der Roboter tun kann, erhält „{a}“ für immer"
    ),
    "nothing that the robot can reach satisfies '{a}'": (
        "nichts, was der Roboter erreichen kann, erfüllt „{a}“"
    ),
    "once it is in {u}, nothing that the robot can reach satisfies '{a}'": (
        "ist sie einmal in {u}, erfüllt nichts, was der Roboter erreichen kann, „{a}“"
    ),
    "the steps that it takes cannot be done one after the other": (
        "die Schritte, die sie verlangt, lassen sich nicht nacheinander tun"
    ),
    "the mission cannot be achieved from here, though it can from elsewhere: there is no way within its"
    " bounds and without what it forbids": (
        "die Mission ist von hier aus nicht zu erfüllen, von anderswo schon: es gibt keinen Weg in ihren"
        " Schranken und ohne das, was sie verbietet"
    ),
    "the mission cannot be achieved from here: '{a}' alone cannot": (
        "die Mission ist von hier aus nicht zu erfüllen: schon „{a}“ allein ist es nicht"
    ),
    "the mission cannot be achieved from here: its clauses exclude each other on this map": (
        "die Mission ist von hier aus nicht zu erfüllen: ihre Klauseln schließen sich hier aus"
    ),
    "no plan was found within {n} s, which does not prove that there is none": (
        "binnen {n} s wurde kein Plan gefunden, was nicht beweist, dass es keinen gibt"
    ),
    "the mission contradicts itself: nothing satisfies it": (
        "die Mission widerspricht sich: nichts erfüllt sie"
    ),
    # How it ended, and why the robot is stopped.
    "the mission is accomplished": "die Mission ist erfüllt",
    "{W} (read as {B})": "{W} (gelesen als {B})",
    "the mission cannot be satisfied any more: {a} held": (
        "die Mission ist nicht mehr zu erfüllen: {a} galt"
    ),
    "the robot gets nowhere, whichever way it tries": (
        "der Roboter kommt nirgends hin, welchen Weg er auch versucht"
    ),
    "{W}: it is after {a}": "{W}: er will zu {a}",
    "it is after {a}": "er will zu {a}",
    "the robot has not got on for {n} s: {W}": "der Roboter ist seit {n} s nicht weitergekommen: {W}",
    "stopped by the shield: whatever is done, the mission fails": (
        "vom Schutzschild angehalten: was auch geschieht, die Mission scheitert"
    ),
    "the world ended before the mission did": "die Welt endete vor der Mission",
    "the world was reset while the mission was running": (
        "die Welt wurde zurückgesetzt, während die Mission lief"
    ),
    "a newer mission took its place": "eine neuere Mission kam an ihre Stelle",
    "the client took the mission back": "die Mission wurde zurückgenommen",
    "it goes on as a part of the mission that was added": (
        "sie geht als Teil der Mission weiter, die dazukam"
    ),
    "another way is being planned": "ein anderer Weg wird geplant",
    "another mission is being added": "eine Mission kommt hinzu",
    "the robot's side was started again": "die Seite des Roboters wurde neu gestartet",
    "the robot is stopped: {W}": "der Roboter steht: {W}",
    "the primitives do not answer in time": "die Fertigkeiten antworten nicht rechtzeitig",
    "the primitives did not answer for {n} s": "die Fertigkeiten antworteten {n} s lang nicht",
    "nothing is heard from the robot": "vom Roboter ist nichts zu hören",
    "nothing was heard from the robot for {n} s": "vom Roboter war {n} s lang nichts zu hören",
    "not ready after {n} s: no {a}": "nach {n} s nicht bereit: {a} fehlt",
    "{W}: `skm resume` goes on": "{W}: „Mission fortsetzen“ geht weiter",
    "{W}: `skm resume` goes on, `skm queue` shows with what": (
        "{W}: „Mission fortsetzen“ geht weiter, „skm queue“ zeigt, womit"
    ),
    "the mission was {W}: `skm resume` goes on with the next one": (
        "die Mission war {W}: „Weiter mit der nächsten“ geht weiter"
    ),
    "the machine was restarted": "der Automat wurde neu gestartet",
    "stop was called": "STOPP wurde gerufen",
    "the dead-man switch is not held": "der Totmannschalter wird nicht gehalten",
    "nothing is heard of the laser": "vom Laser ist nichts zu hören",
    "nothing is heard of the robot's pose": "von der Lage des Roboters ist nichts zu hören",
    "something stands in the way": "etwas steht im Weg",
    "something stands in the way at ({a})": "etwas steht im Weg bei ({a})",
    # How the nodes are.
    "stopped: {W}": "steht: {W}",
    "on a mission, stopped: {W}": "auf Mission, steht: {W}",
    "on a mission": "auf Mission",
    "not active": "nicht aktiv",
    "waiting for {a}": "wartet auf {a}",
    "ready for missions": "bereit für Missionen",
    "serving": "bedient",
    "recording a mission": "nimmt eine Mission auf",
    "waiting for a mission": "wartet auf eine Mission",
    "waiting for an action": "wartet auf eine Handlung",
    "the episode has ended: reset": "die Episode ist zu Ende: zurücksetzen",
    "running": "läuft",
    "driving": "fährt",
    "idle": "bereit",
    "stands": "steht",
    "drives": "fährt",
    "touches a wall": "berührt eine Wand",
    "{n} pages open": "{n} Seiten offen",
    "1 page open": "1 Seite offen",
    # Patterns of missions.
    "each place, in any order": "jeder Ort, in beliebiger Reihenfolge",
    "one place after the other, whatever comes in between": (
        "ein Ort nach dem anderen, was auch dazwischenkommt"
    ),
    "one place after the other, none before the one that it follows": (
        "ein Ort nach dem anderen, keiner vor dem, auf den er folgt"
    ),
    "as ordered, and no place twice before the next one": (
        "der Reihe nach, und kein Ort zweimal vor dem nächsten"
    ),
    "each place, none again before the next one": "jeder Ort, keiner wieder vor dem nächsten",
    "each place again and again, in any order": (
        "jeder Ort immer wieder, in beliebiger Reihenfolge"
    ),
    "one place after the other, again and again": "ein Ort nach dem anderen, immer wieder",
    "again and again, none before the one that it follows": (
        "immer wieder, keiner vor dem, auf den er folgt"
    ),
    "each place again and again, none again before the next one": (
        "jeder Ort immer wieder, keiner wieder vor dem nächsten"
    ),
    "not there until something holds, which it will": (
        "nicht dort, bis etwas gilt, und das wird es"
    ),
    "never there": "nie dort",
    "not there any more once something holds": "nicht mehr dort, sobald etwas gilt",
    "there in at most so many steps": "dort in höchstens so vielen Schritten",
    "there in so many steps or more": "dort in so vielen Schritten oder mehr",
    "there in just so many steps": "dort in genau so vielen Schritten",
    "whenever the cause holds, the effect does": "wann immer die Ursache gilt, gilt die Wirkung",
    "after each cause, some time, the effect": "nach jeder Ursache irgendwann die Wirkung",
    "in the step after each cause, the effect": "im Schritt nach jeder Ursache die Wirkung",
    "the effect whenever the cause holds, and only then": (
        "die Wirkung, wann immer die Ursache gilt, und nur dann"
    ),
    "the effect in the step after each cause, and only then": (
        "die Wirkung im Schritt nach jeder Ursache, und nur dann"
    ),
    "stay there until something holds, which it will": (
        "dort bleiben, bis etwas gilt, und das wird es"
    ),
    # What a request came to.
    "the robot has taken the mission": "der Roboter hat die Mission angenommen",
    "the machine node is not there": "der Automat ist nicht da",
    "the machine takes no mission now": "der Automat nimmt jetzt keine Mission",
    "the mission ends": "die Mission endet",
    "no mission was under way": "keine Mission war im Gang",
    "the proposal is refused": "der Vorschlag ist abgelehnt",
    "a new episode has begun": "eine neue Episode hat begonnen",
    "the robot is stopped": "der Roboter steht",
    "the robot may move": "der Roboter darf sich bewegen",
    "a mission is under way: it can be replaced, or this one can wait": (
        "eine Mission ist im Gang: sie kann ersetzt werden, oder diese kann warten"
    ),
    "this is a recording: nothing can be told to the robot": (
        "dies ist eine Aufnahme: dem Roboter kann nichts gesagt werden"
    ),
    "this page only shows: the server is read-only": (
        "diese Seite zeigt nur: der Server nimmt keine Befehle"
    ),
    "too many requests: wait a second": "zu viele Anfragen: eine Sekunde warten",
    "open a recording first": "zuerst eine Aufnahme öffnen",
    "open a recording first, then another one beside it": (
        "zuerst eine Aufnahme öffnen, dann eine daneben"
    ),
    "this recording is still being written": "diese Aufnahme wird noch geschrieben",
    "there is no such recording in the folder": "im Ordner ist keine solche Aufnahme",
    "{a} is there again already": "{a} ist schon wieder da",
    "nobody answered within {n} s": "binnen {n} s hat niemand geantwortet",
    "{W} offers no such thing, or is not there: {a}": "{W} bietet das nicht oder ist nicht da: {a}",
    "the machine node": "der Automat",
    "the simulator": "der Simulator",
    "the robot": "der Roboter",
    "the mission has taken it at its step {n}": "die Mission hat es bei ihrem Schritt {n} aufgenommen",
    "paused": "angehalten",
    "it was paused already": "sie war schon angehalten",
    "it goes on": "es geht weiter",
    "nothing is paused": "nichts ist angehalten",
}

GAP: Final = re.compile(r"\{([A-Za-z])\}")
MOST_CHARACTERS: Final = 2000
"""Longer texts are not looked at: no sentence of skm is so long but for what it quotes."""
MOST_NESTED: Final = 4


@lru_cache(maxsize=1)
def _forms() -> list[tuple[re.Pattern[str], str]]:
    """Return the English forms as patterns, those that say most first."""
    found = []
    for english, german in SENTENCES.items():
        pieces = GAP.split(english)
        pattern = "".join(
            f"(?P<{piece}>.+?)" if number % 2 else re.escape(piece)
            for number, piece in enumerate(pieces)
        )
        found.append((len("".join(pieces[::2])), re.compile(pattern, re.DOTALL), german))
    return [(pattern, german) for _, pattern, german in sorted(found, key=lambda form: -form[0])]


@lru_cache(maxsize=1000)
def in_german(text: str, nested: int = 0) -> str:
    """Return a text in German; as it is, if it is none of the sentences that are known."""
    if not text or len(text) > MOST_CHARACTERS or nested > MOST_NESTED:
        return text
    for pattern, german in _forms():
        found = pattern.fullmatch(text)
        if found is None:
            continue
        parts = found.groupdict()
        inner = {
            name: in_german(part, nested + 1) if name.isupper() else part
            for name, part in parts.items()
        }
        return GAP.sub(lambda gap: inner[gap[1]], german)  # noqa: B023 - used at once
    return text


def translated(text: str, language: str) -> str:
    """Return a text of skm in the language of who looks; English as it is."""
    return in_german(text) if language == "de" else text
