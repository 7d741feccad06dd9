// `words` in JavaScript, for componentize-qjs.

const wordsOf = (text) => text.split(/\s+/).filter((word) => word !== '');

export const words = {
  count(text) {
    const found = wordsOf(text);
    const letters = found.reduce((sum, word) => sum + [...word].length, 0);
    return { words: found.length, letters };
  },

  longest(text) {
    const found = wordsOf(text);
    if (found.length === 0) throw 'no words';
    return found.reduce((one, other) => ([...other].length > [...one].length ? other : one));
  },
};
