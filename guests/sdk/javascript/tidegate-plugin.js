// Tools, sinks and workers for Tidegate, without the handling of the contract's raw types. What each
// function takes is in tidegate-plugin.d.ts. Deliberately absent: files and output, for which a world
// names WASI's interfaces.

/** What went wrong in the plugin's own business, in words that are fit for anyone. */
export class Refusal extends Error {
  constructor(code, message, retryable) {
    super(message);
    this.failure = { code, message, retryable };
  }
}

/** Nobody knows whether a delivery was taken: some of it may have left. */
export class Unknown extends Error {}

const NO_SUCH_TOOL = 'this plugin has no tool of that name';

/** The export `tools` of a plugin. */
export function tools(list) {
  const find = (name) => list.find((tool) => tool.name === name);
  return {
    definitions() {
      return list.map((tool) => ({
        name: tool.name,
        description: tool.description,
        inputSchema: JSON.stringify(tool.inputSchema),
        outputSchema: tool.outputSchema && JSON.stringify(tool.outputSchema),
        effects: tool.effects ?? [],
        requiresApproval: tool.requiresApproval ?? false,
      }));
    },

    validate(name, json) {
      const tool = find(name);
      if (tool === undefined) throw [{ pointer: '', reason: NO_SUCH_TOOL }];
      const problems = tool.problems?.(JSON.parse(json)) ?? [];
      if (problems.length > 0) throw problems;
    },

    execute(call) {
      try {
        const tool = find(call.name);
        if (tool === undefined) throw new Refusal('UNKNOWN_TOOL', NO_SUCH_TOOL);
        return success(tool.run(JSON.parse(call.arguments)));
      } catch (thrown) {
        return { status: 'failed', references: [], error: failureOf(thrown) };
      }
    },
  };
}

/** The export `sink` of a plugin. */
export function sink(take) {
  return {
    deliver(delivery) {
      const { deliveryId, artifacts } = delivery;
      try {
        const metadata = take(delivery);
        return {
          deliveryId,
          status: 'accepted',
          artifacts: artifacts.length > 0 ? artifacts : undefined,
          metadata: metadata && JSON.stringify(metadata),
        };
      } catch (thrown) {
        if (thrown instanceof Unknown) {
          const error = { code: 'OUTCOME_UNKNOWN', message: thrown.message };
          return { deliveryId, status: 'unknown', error };
        }
        return { deliveryId, status: 'rejected', error: failureOf(thrown) };
      }
    },
  };
}

/** The export `worker` of a plugin. */
export function worker(work) {
  return {
    run(invocation) {
      try {
        const context = JSON.parse(invocation.context);
        return JSON.stringify(work({ ...invocation, context }) ?? null);
      } catch (thrown) {
        throw failureOf(thrown);
      }
    },
  };
}

/** What a message says as text: its text, its JSON, or its parts one below the other. */
export function textOf({ content }) {
  if (content.tag !== 'parts') return content.val;
  return content.val.map(({ tag, val }) => (tag === 'reference' ? val.uri : val)).join('\n');
}

/** Bytes of a text as UTF-8: QuickJS has no TextEncoder. */
export function bytesOf(text) {
  const escaped = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
  const bytes = escaped.replace(/%(..)/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return Uint8Array.from(bytes, (letter) => letter.charCodeAt(0));
}

function success(answer) {
  const { text, data } = typeof answer === 'string' ? { text: answer } : answer;
  return {
    status: 'success',
    content: text === undefined ? undefined : { tag: 'text', val: text },
    structuredContent: data === undefined ? undefined : JSON.stringify(data),
    references: [],
  };
}

// Anything but a refusal is a fault of the plugin: it goes on, and ends the call as a trap.
function failureOf(thrown) {
  if (thrown instanceof Refusal) return thrown.failure;
  throw thrown;
}
