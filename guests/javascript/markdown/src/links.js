// Finds links in the text of a block: inline links and images, autolinks, and references with their
// definitions. Every search goes forward only, so that a hostile text takes no more than linear time
// but for brackets, whose nesting is bounded.

const AUTOLINK = /^<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*)>/;
const DEFINITION = /^\[([^\[\]]{1,999})\]:[ \t]*\n?[ \t]*(?:<([^<>\n]*)>|(\S+))(?:[ \t\n]+(?:"([^"]*)"|'([^']*)'|\(([^()]*)\)))?[ \t]*(?:\n|$)/;

// Brackets that are open at a time; those beyond are text.
const MAX_OPEN_BRACKETS = 32;

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
  const match = AUTOLINK.exec(text.slice(at, at + 2100));
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
  const rest = text.slice(from, from + 4200);
  const angled = /^\s*<([^<>\n]*)>/.exec(rest);
  const target = angled ?? bare(rest);
  if (target === null) return null;
  const after = rest.slice(target[0].length);
  const ending = /^\s*(?:(?<=\s)(?:"([^"]*)"|'([^']*)'|\(([^()]*)\))\s*)?\)/.exec(after);
  if (ending === null) return null;
  return {
    text: target[1],
    title: ending[1] ?? ending[2] ?? ending[3],
    end: from + target[0].length + ending[0].length,
  };
}

// A destination without `<`: up to a white space or a parenthesis that was not opened in it.
function bare(rest) {
  const space = /^\s*/.exec(rest)[0].length;
  let depth = 0;
  let at = space;
  for (; at < rest.length; at += 1) {
    const letter = rest[at];
    if (letter === '\\') at += 1;
    else if (letter === '(' && depth === MAX_OPEN_BRACKETS) return null;
    else if (letter === '(') depth += 1;
    else if (letter === ')' && depth === 0) break;
    else if (letter === ')') depth -= 1;
    else if (letter <= ' ') break;
  }
  return depth === 0 ? [rest.slice(0, at), rest.slice(space, at)] : null;
}

function shown(inner) {
  const text = inner.replace(/\s+/g, ' ').trim();
  return text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
}
