// The worker `{{name}}`: counts the words of its prompt, and stages what it has to say as the part
// `count.txt`.

import { stage } from 'tidegate:plugin/parts@0.1.0';

import { Refusal, bytesOf, worker as workerOf } from './tidegate-plugin.js';

export const worker = workerOf(({ prompt }) => {
  const words = prompt.split(/\s+/).filter((word) => word !== '').length;
  if (words === 0) throw new Refusal('BLANK', 'the prompt has no words');
  stage('count.txt', bytesOf(`${words} words\n`));
  return { words };
});
