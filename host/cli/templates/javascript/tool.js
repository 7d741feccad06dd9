// The tool `{{name}}`: counts the words of a text.

import { tools as toolsOf } from './tidegate-plugin.js';

const inputSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', maxLength: 10_000, description: 'The text whose words are counted' },
  },
  required: ['text'],
  additionalProperties: false,
};

const count = {
  name: '{{name}}',
  description: 'Counts the words of a text: what stands between white space.',
  inputSchema,

  problems({ text }) {
    if (typeof text === 'string' && text.trim() !== '') return [];
    return [{ pointer: '/text', reason: 'the text is blank' }];
  },

  run({ text }) {
    return `${text.trim().split(/\s+/).length} words`;
  },
};

export const tools = toolsOf([count]);
