// The tools' arguments: their schemas, what a schema can't say about them, and their defaults.

const MAX_PATH = 1024;
const MAX_ENTRIES = 1000;

const PATH = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_PATH,
  description: 'Path of the file, relative to the workspace',
};

const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_ENTRIES,
  default: 200,
  description: 'How many to return at most',
};

function object(properties, required) {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const OUTLINE = object(
  {
    path: PATH,
    maxLevel: {
      type: 'integer',
      minimum: 1,
      maximum: 6,
      default: 6,
      description: 'The deepest level of heading to return',
    },
    limit: LIMIT,
  },
  ['path'],
);

export const LINKS = object(
  {
    path: PATH,
    kind: {
      enum: ['link', 'image', 'autolink'],
      description: 'Return this kind only',
    },
    limit: LIMIT,
  },
  ['path'],
);

const LINE = { type: 'integer', minimum: 1 };
const TRUNCATED = { type: 'boolean', description: 'Whether there are more than were returned' };

export const OUTLINE_OUTPUT = object(
  {
    path: { type: 'string' },
    headings: {
      type: 'array',
      maxItems: MAX_ENTRIES,
      items: object(
        { level: { type: 'integer', minimum: 1, maximum: 6 }, text: { type: 'string' }, line: LINE },
        ['level', 'text', 'line'],
      ),
    },
    truncated: TRUNCATED,
  },
  ['path', 'headings', 'truncated'],
);

export const LINKS_OUTPUT = object(
  {
    path: { type: 'string' },
    links: {
      type: 'array',
      maxItems: MAX_ENTRIES,
      items: object(
        {
          kind: { enum: ['link', 'image', 'autolink'] },
          text: { type: 'string' },
          target: { type: 'string' },
          title: { type: 'string' },
          line: LINE,
        },
        ['kind', 'text', 'target', 'line'],
      ),
    },
    truncated: TRUNCATED,
  },
  ['path', 'links', 'truncated'],
);

// What is wrong with the arguments beyond their schema; empty if nothing is.
export function problems(text, schema) {
  let values;
  try {
    values = JSON.parse(text);
  } catch {
    return [{ pointer: '', reason: 'the arguments are not JSON' }];
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    return [{ pointer: '', reason: 'the arguments are not an object' }];
  }
  const found = [];
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(schema.properties, name)) {
      found.push({ pointer: '', reason: 'there is an argument that the tool does not have' });
      break;
    }
  }
  const path = pathProblem(values.path);
  if (path !== null) found.push({ pointer: '/path', reason: path });
  for (const name of ['limit', 'maxLevel']) {
    const range = schema.properties[name];
    if (range !== undefined && !isBetween(values[name] ?? range.default, range)) {
      found.push({ pointer: `/${name}`, reason: `it must be from ${range.minimum} to ${range.maximum}` });
    }
  }
  if (values.kind !== undefined && !schema.properties.kind?.enum.includes(values.kind)) {
    found.push({ pointer: '/kind', reason: 'it must be link, image or autolink' });
  }
  return found;
}

function isBetween(value, { minimum, maximum }) {
  return Number.isInteger(value) && value >= minimum && value <= maximum;
}

function pathProblem(path) {
  if (typeof path !== 'string' || path === '') return 'a path is required';
  if (path.length > MAX_PATH) return 'the path is longer than 1,024 characters';
  if (path.startsWith('/')) return 'the path must be relative to the workspace';
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return 'the path has a backslash or a control character';
  if (path.split('/').some((name) => name === '' || name === '..')) {
    return 'the path has an empty or `..` segment';
  }
  return null;
}
