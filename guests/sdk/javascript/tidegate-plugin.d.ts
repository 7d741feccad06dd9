/** Any value that JSON has. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The arguments of a call, which fit the tool's schema. */
export type Arguments = { [key: string]: any };

/** What a tool touches. */
export type Effect = 'read' | 'write' | 'execute' | 'network';

/** What is wrong with one place of the arguments. */
export interface Problem {
  /** Where, as a JSON pointer such as `/path`; empty for the arguments as a whole. */
  pointer: string;
  /** What is wrong, in one line. */
  reason: string;
}

/** A success: a text to read, data, or both. */
export interface Answer {
  text?: string;
  data?: Json;
}

/** One tool of a plugin. */
export interface Tool {
  /** 1 to 64 of letters, digits, `_` and `-`. */
  name: string;
  /** Tells a model when to use the tool and what it gets. */
  description?: string;
  /** JSON Schema of the arguments. `additionalProperties: false` closes it. */
  inputSchema: object;
  /** JSON Schema of the data of an answer. */
  outputSchema?: object;
  effects?: Effect[];
  /** Whether a person should agree before each run. */
  requiresApproval?: boolean;
  /** What a schema can't say: each place that is wrong. */
  problems?(args: Arguments): Problem[];
  /** Runs once. A text is an answer too; a thrown `Refusal` says what went wrong. */
  run(args: Arguments): string | Answer;
}

/** Something kept elsewhere. */
export interface Reference {
  uri: string;
  mediaType?: string;
  digest?: string;
}

/** One piece of content. */
export type Part =
  | { tag: 'text'; val: string }
  | { tag: 'json'; val: string }
  | { tag: 'reference'; val: Reference };

/** What a message says. JSON is text here. */
export type Content =
  | { tag: 'text'; val: string }
  | { tag: 'json'; val: string }
  | { tag: 'parts'; val: Part[] };

/** One message of a conversation. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: Content;
  name?: string;
}

/** A final message on its way out. */
export interface Delivery {
  deliveryId: string;
  message: Message;
  artifacts: { name: string; reference: Reference }[];
}

/** What a worker is asked to do. */
export interface Invocation {
  taskId: string;
  attempt: number;
  agent: string;
  system?: string;
  prompt: string;
  /** What the worker may know. */
  context: { [key: string]: any };
}

/**
 * What went wrong in the plugin's own business, in words that are fit for anyone: a code of your own,
 * such as `NOT_FOUND`, and one line that quotes no path, no text of a file and no other error.
 */
export class Refusal extends Error {
  constructor(code: string, message: string, retryable?: boolean);
}

/** Nobody knows whether a delivery was taken: some of it may have left. */
export class Unknown extends Error {
  constructor(message: string);
}

/** Makes the export `tools` of a plugin: `export const tools = …`. */
export function tools(list: Tool[]): object;

/**
 * Makes the export `sink` of a plugin. `take` gets each delivery once and may give an object for the
 * caller's records; a thrown `Refusal` rejects the delivery.
 */
export function sink(take: (delivery: Delivery) => object | void): object;

/**
 * Makes the export `worker` of a plugin. `work` does a step and gives its value; a thrown `Refusal`
 * fails the attempt.
 */
export function worker(work: (invocation: Invocation) => Json | void): object;

/** What a message says as text: its text, its JSON, or its parts one below the other. */
export function textOf(message: Message): string;

/** Bytes of a text as UTF-8: QuickJS has no TextEncoder. */
export function bytesOf(text: string): Uint8Array;
