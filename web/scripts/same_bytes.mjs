// SPDX-License-Identifier: Apache-2.0
// same_bytes.mjs MODULE PROGRAM [DRAWN [EVERY]]: the module answers with the program's bytes: every row of tests/truth that is a command of
// train or serve, and requests drawn at random, with the errors that some are answered with.
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {loadCore} from './core.mjs';
import {truthRequests} from './truth_requests.mjs';

const [module, program, drawn = '2000', every = '1'] = process.argv.slice(2);

/** A generator with a seed, so that a difference can be seen again (mulberry32). */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function draws(count) {
  const random = randomOf(20261124), pick = list => list[Math.floor(random() * list.length)];
  const ids = ['Qwen/Qwen3-0.6B', 'openai-community/gpt2', 'meta-llama/Llama-3.2-3B', 'Qwen/Qwen3-8B', 'meta-llama/Llama-3.1-8B', 'mistralai/Mistral-7B-v0.1',
    'openai/gpt-oss-20b', 'google/gemma-2-2b', 'FacebookAI/roberta-base', 'EleutherAI/pythia-1b', 'no/such-model'];
  const gpus = ['h100-80gb', 'rtx-4090', 'l4', 't4', 'a100-80gb', 'rtx-3060-12gb', 'mi300x', 'no-such-gpu'];
  const train = () => ['train', pick(ids), '--gpu', pick(gpus), '--micro-batch-size', pick(['1', '2', '3', '8', '0', 'x']), '--sequence-length', pick(['128', '777', '2048', '4096']),
    ...pick([[], ['--precision', pick(['bf16', 'amp-bf16', 'fp32', 'fp16', 'amp-fp16'])]]), ...pick([[], ['--optimizer', pick(['adamw', 'sgd', 'adafactor', 'nadam'])]]),
    ...pick([[], ['--gradient-checkpointing', 'full']]), ...pick([[], [], ['--rules'], ['--compile'], ['--attention', 'eager']]),
    ...pick([[], [], ['--framework', pick(['ddp', 'fsdp1', 'fsdp2', 'deepspeed']), '--gpus', pick(['2', '8'])], ['--framework', 'torch-tp', '--tp', '2', '--max-grad-norm', 'none']])];
  const tune = () => ['train', pick(ids), '--gpu', pick(gpus), ...pick([['--qlora'], ['--framework', 'transformers', '--bf16', 'true'],
    ['--framework', 'transformers', '--weights', 'bf16', '--lora-rank', pick(['4', '16', '64']), '--lora-targets', 'all-linear']]),
    '--per_device_train_batch_size', pick(['1', '2', '5']), '--sequence-length', pick(['256', '1024', '2048'])];
  const serve = () => ['serve', pick(ids), '--gpu', pick(gpus), ...pick([['--engine', 'vllm'], ['--engine', 'sglang'], ['--engine', 'llamacpp', '--quantize', pick(['Q4_K_M', 'Q8_0', 'IQ4_XS'])]]),
    ...pick([[], ['--users', pick(['1', '4', '50']), '--context', pick(['1000', '4096', '9999'])]]), ...pick([[], ['--tp', '2']])];
  return Array.from({length: count}, () => pick([train, train, tune, serve, serve])());
}

const core = await loadCore(module);
const rows = truthRequests().filter((_, i) => i % Number(every) === 0);
const requests = [...rows, ...draws(Number(drawn)).map(args => ({args, files: {}}))];
// None of this machine's caches, environments and networks: the module has none.
const environment = {PATH: process.env.PATH, HOME: '/nonexistent', HF_HUB_OFFLINE: '1'};
let differing = 0, errors = 0;
const folder = mkdtempSync(join(tmpdir(), 'memtape-'));  // in which the program finds a request's files
for (const {args, files} of requests) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const cli = spawnSync(resolve(program), [...args, '--json'], {cwd: folder, env: environment, encoding: 'utf8', maxBuffer: 2 ** 28});
  let web;
  try {
    web = core.answer(JSON.stringify({argv: args, files, as: 'json'}));
  } catch (error) {
    web = {text: `the module gave up: ${error}`, exitCode: -1};
  }
  let same = web.exitCode === cli.status;
  if (cli.status === 2) {
    ++errors;
    const {error} = same ? JSON.parse(web.text) : {};
    // A model that is not at hand is said in the words of each: a folder, the hub, a file that was not handed over.
    same &&= args[1] === 'no/such-model' || [error.what, error.where, error.hint].every(part => cli.stderr.includes(part));
  } else {
    same &&= web.text === cli.stdout;
  }
  if (same) continue;
  if (++differing <= 10) console.log(`differs: memtape ${args.join(' ')}\n  program ${cli.status} ${(cli.stderr || cli.stdout).slice(0, 200)}\n  module ${web.exitCode} ${web.text.slice(0, 200)}`);
}
rmSync(folder, {recursive: true});
console.log(`${requests.length} requests (${rows.length} recorded, ${drawn} drawn, ${errors} of them refused): ${differing} differ`);
process.exit(differing ? 1 : 0);
