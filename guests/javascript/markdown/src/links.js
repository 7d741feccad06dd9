// Finds links in the text of a block: inline links and images, autolinks, and references with their
// definitions. Every search goes forward only, so that a hostile text takes no more than linear time
// but for brackets, whose nesting is bounded.

// Expressions that are tried at one place of the text, without a copy of what follows.
const AUTOLINK = /<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2048})>/y;
const ANGLED = /\s{0,64}<([^<>\n]{0,2048})>/y;
const ENDING = /(?:\s{1,64}(?:"([^"]{0,2048})"|'([^']{0,2048})'|\(([^()]{0,2048})\)))?\s{0,64}\)/y;
const DEFINITION = /^\[([^\[\]]{1,999})\]:[ \t]*\n?[ \t]*(?:<([^<>\n]*)>|(\S+))(?:[ \t\n]+(?:"([^"]*)"|'([^']*)'|\(([^()]*)\)))?[ \t]*(?:\n|$)/;

// Brackets that are open at a time; those beyond are text.
const MAX_OPEN_BRACKETS = 32;

// The deepest parentheses in a destination, and its length in characters.
const MAX_PARENTHESES = 4;
const MAX_DESTINATION = 2048;

// A text between brackets is shown up to here, in characters.
const MAX_TEXT = 512;

// Reads the definitions at the start of a paragraph. Gives back what follows them.
export function takeDefinitions(text, define) {
  for (;;) {
    const found = DEFINITION.exec(text);
    if (found === null) return text;
    define(label(found[1]), {
      target: found[2] ?? found[3],
      title: found[4] ?? found[5] ?? found[6],
    });
    text = text.slice(found[0].length);
  }
}

// Calls `found({kind, text, offset, target?, title?, label?})` for each link; one by reference has a
// label in the place of a target.
export function findLinks(text, found) {
  const open = [];
  let at = 0;
  while (at < text.length) {
    const letter = text[at];
    if (letter === '\\') {
      at += 2;
    } else if (letter === '`') {
      at = afterCode(text, at);
    } else if (letter === '<') {
      at = autolink(text, at, found);
    } else if (letter === '[') {
      if (open.length === MAX_OPEN_BRACKETS) open.shift();
      open.push({ start: at + 1, kind: at > 0 && text[at - 1] === '!' ? 'image' : 'link' });
      at += 1;
    } else if (letter === ']' && open.length > 0) {
      at = close(text, at, open.pop(), found);
    } else {
      at += 1;
    }
  }
}

// The form of a label under which definitions and uses meet.
function label(text) {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

// Behind the code span that starts at a run of backticks, or behind the run where none closes it.
function afterCode(text, at) {
  let end = at;
  while (text[end] === '`') end += 1;
  const ticks = text.slice(at, end);
  let close = text.indexOf(ticks, end);
  while (close >= 0) {
    let after = close;
    while (text[after] === '`') after += 1;
    if (after - close === ticks.length) return after;
    close = text.indexOf(ticks, after);
  }
  return end;
}

function autolink(text, at, found) {
  const match = execAt(AUTOLINK, text, at);
  if (match === null) return at + 1;
  found({ kind: 'autolink', text: match[1], offset: at, target: match[1] });
  return at + match[0].length;
}

// What a closing bracket makes of the open one. Gives back where to go on.
function close(text, at, open, found) {
  const inner = text.slice(open.start, at);
  const link = { kind: open.kind, text: shown(inner), offset: open.start - 1 };
  if (text[at + 1] === '(') {
    const target = destination(text, at + 2);
    if (target !== null) {
      found({ ...link, target: target.text, title: target.title });
      return target.end;
    }
  }
  if (text[at + 1] === '[') {
    const end = text.indexOf(']', at + 2);
    if (end >= 0 && end - at <= 1001) {
      const named = text.slice(at + 2, end);
      found({ ...link, label: label(named.trim() === '' ? inner : named) });
      return end + 1;
    }
  }
  if (inner.length > 0 && inner.length <= 999) found({ ...link, label: label(inner) });
  return at + 1;
}

// The destination and title behind `(`, or null where it is no link.
function destination(text, from) {
  const angled = execAt(ANGLED, text, from);
  const target = angled === null
    ? bare(text, from)
    : { text: angled[1], end: from + angled[0].length };
  if (target === null) return null;
  const ending = execAt(ENDING, text, target.end);
  if (ending === null) return null;
  return {
    text: target.text,
    title: ending[1] ?? ending[2] ?? ending[3],
    end: target.end + ending[0].length,
  };
}

function execAt(expression, text, at) {
  expression.lastIndex = at;
  return expression.exec(text);
}

// A destination without `<`: up to a white space or a parenthesis that was not opened in it.
function bare(text, from) {
  let start = from;
  while (text[start] <= ' ') start += 1;
  let depth = 0;
  let at = start;
  for (; at < text.length && at - start <= MAX_DESTINATION; at += 1) {
    const letter = text[at];
    if (letter === '\\') at += 1;
    else if (letter === '(' && depth === MAX_PARENTHESES) return null;
    else if (letter === '(') depth += 1;
    else if (letter === ')' && depth === 0) break;
    else if (letter === ')') depth -= 1;
    else if (letter <= ' ') break;
  }
  return depth === 0 && at - start <= MAX_DESTINATION ? { text: text.slice(start, at), end: at } : null;
}

function shown(inner) {
  const text = inner.replace(/\s+/g, ' ').trim();
  return text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
}
