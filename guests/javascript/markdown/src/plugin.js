// The plugin's exports: `markdown_outline` and `markdown_links`.

import { cancelled, progress } from 'tidegate:plugin/context@0.1.0';

import { LINKS, LINKS_OUTPUT, OUTLINE, OUTLINE_OUTPUT, problems } from './arguments.js';
import { Blocks } from './blocks.js';
import { eachLine } from './file.js';
import { findLinks, takeDefinitions } from './links.js';
import { Refusal } from './refusal.js';

// Links by reference that wait for their definition, and definitions; what is over is left out, and
// the answer says that it is cut.
const MAX_WAITING = 5_000;

// The whole answer stays below the host's default for results, in characters of the parts.
const MAX_ANSWER = 200_000;

const TOOLS = {
  markdown_outline: {
    schema: OUTLINE,
    output: OUTLINE_OUTPUT,
    description:
      'Lists the headings of a Markdown file of the workspace with their levels and lines. The file '
      + 'must be UTF-8 and at most 524,288 bytes long.',
    run: outline,
  },
  markdown_links: {
    schema: LINKS,
    output: LINKS_OUTPUT,
    description:
      'Lists the links, images and autolinks of a Markdown file of the workspace with their targets '
      + 'and lines; links by reference are resolved. The file must be UTF-8 and at most 524,288 '
      + 'bytes long.',
    run: links,
  },
};

export const tools = {
  definitions() {
    return Object.entries(TOOLS).map(([name, { schema, output, description }]) => ({
      name,
      description,
      inputSchema: JSON.stringify(schema),
      outputSchema: JSON.stringify(output),
      effects: ['read'],
      requiresApproval: false,
    }));
  },

  validate(name, text) {
    const found = Object.hasOwn(TOOLS, name)
      ? problems(text, TOOLS[name].schema)
      : [{ pointer: '', reason: 'this plugin has no tool of that name' }];
    if (found.length > 0) throw found;
  },

  execute(call) {
    if (!Object.hasOwn(TOOLS, call.name)) {
      return new Refusal('UNKNOWN_TOOL', 'this plugin has no tool of that name').outcome();
    }
    const { schema, run } = TOOLS[call.name];
    const [problem] = problems(call.arguments, schema);
    if (problem !== undefined) return new Refusal('INVALID_ARGUMENTS', problem.reason).outcome();
    try {
      const { content, data } = run(JSON.parse(call.arguments));
      return {
        status: 'success',
        content: { tag: 'text', val: content },
        structuredContent: JSON.stringify(data),
        references: [],
      };
    } catch (error) {
      // An exception of ours would be a fault of the plugin: it ends the call as a trap.
      if (error instanceof Refusal) return error.outcome();
      throw error;
    }
  },
};

function outline({ path, maxLevel = 6, limit = 200 }) {
  const headings = new Entries(limit);
  walk(path, (block) => {
    if (block.level === 0 || block.level > maxLevel) return;
    headings.add({ level: block.level, text: block.text, line: block.line });
  });
  return {
    content: headings.list.map(({ level, text, line }) => `${'  '.repeat(level - 1)}- ${text} (line ${line})\n`).join(''),
    data: { path, headings: headings.list, truncated: headings.truncated },
  };
}

function links({ path, kind, limit = 200 }) {
  const definitions = new Map();
  const waiting = [];
  let isOver = false;
  walk(path, (block) => {
    const rest = block.level > 0 ? block.text : takeDefinitions(block.text, (label, definition) => {
      if (definitions.size < MAX_WAITING && !definitions.has(label)) definitions.set(label, definition);
    });
    const skipped = block.text.length - rest.length;
    const lines = new Lines(block.text, block.line);
    findLinks(rest, (link) => {
      if (kind !== undefined && link.kind !== kind) return;
      isOver ||= waiting.length === MAX_WAITING;
      if (!isOver) waiting.push({ ...link, line: lines.at(skipped + link.offset) });
    });
  });
  const found = new Entries(limit);
  for (const link of waiting) {
    const to = link.target === undefined ? definitions.get(link.label) : link;
    if (to === undefined) continue;
    const { kind: of, text, line } = link;
    found.add({ kind: of, text, target: to.target, ...(to.title !== undefined && { title: to.title }), line });
  }
  return {
    content: found.list.map(({ text, target, line }) => `${line}: ${text} -> ${target}\n`).join(''),
    data: { path, links: found.list, truncated: found.truncated || isOver },
  };
}

// Cuts the file into blocks, tells how far it has come, and stops when nobody wants the answer.
function walk(path, each) {
  const blocks = new Blocks(each);
  eachLine(path, (line) => blocks.take(line), (bytes) => {
    if (cancelled()) throw Refusal.cancelled();
    progress(bytes, undefined, 'bytes read');
  });
  blocks.end();
}

// What is returned, up to a number and a length in all.
class Entries {
  list = [];
  truncated = false;
  #limit;
  #length = 0;

  constructor(limit) {
    this.#limit = limit;
  }

  add(entry) {
    this.#length += JSON.stringify(entry).length;
    if (this.list.length === this.#limit || this.#length > MAX_ANSWER) this.truncated = true;
    if (!this.truncated) this.list.push(entry);
  }
}

// The line of each place in a block, asked for in rising order.
class Lines {
  #text;
  #at = 0;
  #line;

  constructor(text, line) {
    this.#text = text;
    this.#line = line;
  }

  at(offset) {
    for (let next = this.#text.indexOf('\n', this.#at); next >= 0 && next < offset; next = this.#text.indexOf('\n', this.#at)) {
      this.#at = next + 1;
      this.#line += 1;
    }
    return this.#line;
  }
}
