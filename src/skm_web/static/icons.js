// Icons for what places are called: strokes in a box of 24 by 24, by a word in the name; a name without one has none.

const STROKES = {
  cup: "M5 8h11v6a5 5 0 0 1-5 5h-1a5 5 0 0 1-5-5zM16 10h1.5a2.5 2.5 0 0 1 0 5H16M8 5V3M12 5V3",
  letter: "M3 6h18v12H3zM3 7l9 7 9-7",
  desk: "M4 8h16v11H4zM9 8V5h6v3M4 13h16",
  flower: "M12 21v-9M12 16c-4 0-5-3-5-3 3-1 5 1 5 3zM12 12a3 3 0 1 1 0-6 3 3 0 0 1 0 6zM12 18c4 0 5-3 5-3-3-1-5 1-5 3z",
  person: "M12 11a4 4 0 1 1 0-8 4 4 0 0 1 0 8zM4 21c0-5 4-7 8-7s8 2 8 7",
  bolt: "M13 2 5 14h6l-1 8 9-13h-7z",
  drop: "M12 3s7 8 7 12a7 7 0 0 1-14 0c0-4 7-12 7-12z",
  box: "M3 7l9-4 9 4v10l-9 4-9-4zM3 7l9 4 9-4M12 11v10",
  door: "M6 21V3h12v18M3 21h18M14.5 12v1",
  pot: "M4 10h16v6a4 4 0 0 1-4 4H8a4 4 0 0 1-4-4zM2 12h2M20 12h2M9 6V4M15 6V4",
  bed: "M3 19V6M3 16h18v3M21 16v-3a3 3 0 0 0-3-3H3M7 10a2 2 0 1 0 0-.1",
  flask: "M9 3h6M10 3v6L4 20h16L14 9V3M7 15h10",
};
const WORDS = {
  cup: /coffee|tea|cafe|drink/, letter: /mail|post|letter/, desk: /office|desk|study|work/, flower: /decor|plant|flower|garden/, person: /people|person|human|reception|meeting/,
  bolt: /charg|dock|power|battery/, drop: /wet|water|wash|bath|pool/, box: /box|parcel|depot|store|storage|shelf|pick|drop|load/, door: /door|exit|entr|gate|hall|lift/, pot: /kitchen|cook|oven/, bed: /bed|ward|sleep|patient/, flask: /lab|clean/,
};

/** Return the strokes of the icon for a name; null if there is none. */
export function icon(name) {
  const found = Object.keys(WORDS).find((each) => WORDS[each].test(name.toLowerCase()));
  return found ? STROKES[found] : null;
}
