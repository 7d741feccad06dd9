// Reading a file of the workspace line by line. Deliberately absent: writing, listing, and any
// character set but UTF-8.

import { getDirectories } from 'wasi:filesystem/preopens@0.2.0';

import { Refusal } from './refusal.js';

// The longest file that is read, in bytes. QuickJS looks at a megabyte in some seconds, and a call has
// ten seconds of CPU.
export const MAX_FILE_BYTES = 524_288;

// The longest line that is read, in bytes: what is held at any time is one line and one chunk.
export const MAX_LINE_BYTES = 65_536;

// What is read at a time, in bytes.
const CHUNK_BYTES = 65_536;

const NEWLINE = 10;

// Calls `each(text)` for every line, without its end, and `passed(bytes)` after every chunk.
export function eachLine(path, each, passed) {
  const file = open(path);
  let rest = new Uint8Array(0);
  let offset = 0;
  for (;;) {
    const [bytes, atEnd] = read(file, offset);
    offset += bytes.length;
    if (offset > MAX_FILE_BYTES) throw Refusal.tooLarge();
    rest = takeLines(rest, bytes, each);
    if (rest.length > MAX_LINE_BYTES) throw Refusal.longLine();
    passed(offset);
    if (atEnd || bytes.length === 0) break;
  }
  if (rest.length > 0) each(decode(rest));
}

// Hands on the lines that end in `bytes`; gives back what is left of the last.
function takeLines(rest, bytes, each) {
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(NEWLINE, start);
    const piece = bytes.subarray(start, end < 0 ? bytes.length : end);
    const line = rest.length > 0 ? joined(rest, piece) : piece;
    if (line.length > MAX_LINE_BYTES) throw Refusal.longLine();
    if (end < 0) return line.slice();
    each(decode(line));
    rest = new Uint8Array(0);
    start = end + 1;
  }
}

function joined(one, other) {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

// QuickJS has no TextDecoder. `decodeURIComponent` takes nothing but UTF-8 and is part of the engine.
function decode(bytes) {
  let latin = '';
  for (let at = 0; at < bytes.length; at += 4096) {
    latin += String.fromCharCode.apply(null, bytes.subarray(at, at + 4096));
  }
  if (latin.endsWith('\r')) latin = latin.slice(0, -1);
  try {
    return decodeURIComponent(escape(latin));
  } catch {
    throw Refusal.notText();
  }
}

function read(file, offset) {
  try {
    return file.read(CHUNK_BYTES, offset);
  } catch {
    throw Refusal.failed();
  }
}

// Opens a regular file below the granted folder that covers the path most closely.
function open(path) {
  const folders = getDirectories();
  let found = null;
  for (const [folder, name] of folders) {
    const below = name === '.' ? path : path.startsWith(`${name}/`) ? path.slice(name.length + 1) : null;
    if (below !== null && (found === null || below.length < found.below.length)) {
      found = { folder, below };
    }
  }
  if (found === null) throw Refusal.denied();
  let type;
  try {
    const file = found.folder.openAt({ symlinkFollow: true }, found.below, {}, { read: true });
    type = file.getType();
    if (type === 'regular-file') return file;
  } catch (error) {
    throw whyNotOpened(error);
  }
  throw Refusal.notAFile();
}

// An error of WASI arrives as its code; the engine may wrap it into an object.
function whyNotOpened(error) {
  const code = String(error?.payload ?? error?.message ?? error);
  if (code === 'no-entry' || code === 'not-directory') return Refusal.notFound();
  if (code === 'access' || code === 'not-permitted') return Refusal.denied();
  if (code === 'is-directory' || code === 'unsupported') return Refusal.notAFile();
  return Refusal.failed();
}
