// Cuts Markdown into the blocks that can hold headings and links: headings and paragraphs, each with
// the line it starts on. Code, front matter and comments are left out. It knows as much of CommonMark
// as that takes: no nesting beyond the marks of quotes and lists at the start of a line.

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const ATX = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const SETEXT = /^ {0,3}(=+|-+)[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const MARKS = /^ {0,3}(?:>[ ]?|[-+*][ \t]+|[0-9]{1,9}[.)][ \t]+)/;
const INDENTED = /^(?: {4}|\t)/;

// A paragraph is cut here, in lines and in characters, so that one without an end stays bounded.
const MAX_PARAGRAPH_LINES = 200;
const MAX_PARAGRAPH_LENGTH = 65_536;

// Takes one line after the other and calls `block({level, text, line})`; `level` is 0 for a paragraph.
export class Blocks {
  #block;
  #line = 0;
  #paragraph = null;
  #fence = null;
  #inFrontMatter = false;
  #inComment = false;

  constructor(block) {
    this.#block = block;
  }

  take(text) {
    this.#line += 1;
    if (this.#line === 1) {
      text = text.replace(/^\uFEFF/, '');
      if (text === '---') {
        this.#inFrontMatter = true;
        return;
      }
    }
    if (this.#isHidden(text)) return;
    if (this.#isUnderline(text)) return;
    this.#body(text);
  }

  // Ends what is still open.
  end() {
    const paragraph = this.#paragraph;
    this.#paragraph = null;
    if (paragraph !== null) {
      this.#block({ level: 0, text: paragraph.texts.join('\n'), line: paragraph.line });
    }
  }

  // Whether the line belongs to something that holds neither headings nor links.
  #isHidden(text) {
    if (this.#inFrontMatter) {
      this.#inFrontMatter = text !== '---' && text !== '...';
      return true;
    }
    if (this.#inComment) {
      this.#inComment = !text.includes('-->');
      return true;
    }
    const content = unmarked(text);
    if (this.#fence !== null) {
      if (closes(this.#fence, content)) this.#fence = null;
      return true;
    }
    const fence = '`~'.includes(first(content)) ? FENCE.exec(content) : null;
    if (fence !== null) {
      this.end();
      this.#fence = fence[1];
      return true;
    }
    if (first(text) === '<' && /^ {0,3}<!--/.test(text)) {
      this.end();
      this.#inComment = !text.includes('-->');
      return true;
    }
    return this.#paragraph === null && INDENTED.test(text);
  }

  // Makes a heading of the paragraph above, if the line underlines it.
  #isUnderline(text) {
    if (this.#paragraph === null || !'=-'.includes(first(text))) return false;
    const underline = SETEXT.exec(text);
    if (underline === null) return false;
    const { texts, line } = this.#paragraph;
    this.#paragraph = null;
    const level = underline[1].startsWith('=') ? 1 : 2;
    this.#block({ level, text: texts.join(' ').trim(), line });
    return true;
  }

  #body(text) {
    const content = unmarked(text);
    const heading = first(content) === '#' ? ATX.exec(content) : null;
    if (heading !== null) {
      this.end();
      const rest = withoutClosing(content.slice(heading[0].length).trim());
      this.#block({ level: heading[1].length, text: rest, line: this.#line });
      return;
    }
    if (content.trim() === '' || isRule(text)) {
      this.end();
      return;
    }
    // The mark of a list or quote starts a text of its own.
    if (content !== text) this.end();
    this.#paragraph ??= { texts: [], line: this.#line, length: 0 };
    this.#paragraph.texts.push(content.trim());
    this.#paragraph.length += content.length;
    const { texts, length } = this.#paragraph;
    if (texts.length >= MAX_PARAGRAPH_LINES || length >= MAX_PARAGRAPH_LENGTH) this.end();
  }
}

// The first letter that is no space; `\n`, which no line has, where there is none. QuickJS takes its time
// over expressions, and this spares most lines all of them.
function first(text) {
  let at = 0;
  while (text[at] === ' ') at += 1;
  return text[at] ?? '\n';
}

function isRule(text) {
  return '*-_'.includes(first(text)) && RULE.test(text);
}

// The line without the marks of quotes and lists at its start. A rule is no list.
function unmarked(text) {
  for (let depth = 0; depth < 16; depth += 1) {
    if (!'>-+*0123456789'.includes(first(text))) return text;
    const mark = isRule(text) ? null : MARKS.exec(text);
    if (mark === null) return text;
    text = text.slice(mark[0].length);
  }
  return text;
}

// The text of a heading without the number signs that may close it. By hand: an expression that does
// the same takes quadratic time over white space.
function withoutClosing(text) {
  let end = text.length;
  while (end > 0 && text[end - 1] === '#') end -= 1;
  if (end === 0) return '';
  const closed = end < text.length && (text[end - 1] === ' ' || text[end - 1] === '\t');
  return closed ? text.slice(0, end).trimEnd() : text;
}

function closes(fence, text) {
  const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(text);
  return closing !== null && closing[1][0] === fence[0] && closing[1].length >= fence.length;
}
