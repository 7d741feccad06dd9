// The sink `{{name}}`: prints the text of each message, for which it is granted `stdout`.

import { getStdout } from 'wasi:cli/stdout@0.2.0';

import { Refusal, Unknown, bytesOf, sink as sinkOf, textOf } from './tidegate-plugin.js';

export const sink = sinkOf(({ message }) => {
  const text = textOf(message);
  if (text.trim() === '') throw new Refusal('BLANK', 'there is nothing to print');
  try {
    print(`${text}\n`);
  } catch {
    // Lines of it may have been printed.
    throw new Unknown('standard output did not take the whole message');
  }
});

// WASI takes at most 4,096 bytes at a time; the host prints whole lines.
function print(text) {
  const stdout = getStdout();
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length; at += 4096) {
    stdout.blockingWriteAndFlush(bytes.slice(at, at + 4096));
  }
}
