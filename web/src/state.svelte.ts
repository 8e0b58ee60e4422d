// SPDX-License-Identifier: Apache-2.0
// What the page knows and shows: a set-up, its answer, and what follows from the two once the sliders rest.
import {type Answer, type Comparison, type Refusal} from './answer';
import {Client, isRefused, type Refused} from './core/client';
import {type Catalog, loadCatalog} from './model/catalog';
import {Files} from './model/files';
import {addressOf, setupsOf} from './setup/address';
import {INITIAL, type Setup, type Task, command, commandWords, copyOf, initialValues, optionWords} from './setup/setup';
import type {StepData} from './timeline/step';

const REST = 180;      // milliseconds without a change, after which the rest is worked out
const MOST_ASKS = 8;   // how often an answer may want more of a file

export class Page {
  setup: Setup = $state(copyOf(INITIAL));
  second: Setup | null = $state(null);
  catalog: Catalog | null = $state(null);
  answer: Answer | null = $state.raw(null);
  secondAnswer: Answer | null = $state.raw(null);
  refusal: Refusal | null = $state.raw(null);
  step: StepData | null = $state.raw(null);
  table: Comparison | null = $state.raw(null);
  tableOpen = $state(false);
  broken = $state('');
  busy = $state(true);
  milliseconds = $state(0);
  json = '';

  private readonly files = new Files();
  private readonly client = new Client(new URL('./memtape.wasm', document.baseURI).href);
  private resting: ReturnType<typeof setTimeout> | undefined;
  private askedFor = '';

  constructor() {
    this.read(location.hash);
    addEventListener('hashchange', () => this.read(location.hash));
    loadCatalog().then(c => (this.catalog = c), error => (this.broken = String(error)));
    this.client.ready.then(() => performance.mark('core-loaded'), error => (this.broken = String(error)));
  }

  private read(address: string): void {
    if (address === addressOf(this.setup, this.second)) return;
    const {setup, second} = setupsOf(address);
    if (setup) this.setup = setup;
    this.second = second;
  }

  /** Call when the set-up changed. */
  changed(): void {
    const asked = JSON.stringify(this.setup);
    if (asked === this.askedFor) return;
    this.askedFor = asked;
    this.busy = true;
    this.client.drop('timeline', 'table');
    void this.ask('answer', this.setup, this.setup.task === 'serve' ? [] : ['--rules']).then(outcome => outcome && this.take(outcome));
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST);
  }

  /** Call when the second set-up changed. */
  async secondChanged(): Promise<void> {
    history.replaceState(null, '', addressOf(this.setup, this.second));
    const second = this.second && $state.snapshot(this.second);
    const outcome = second && await this.ask('second', second);
    if (outcome) this.secondAnswer = outcome.answer && !isRefused(outcome.answer) ? outcome.answer as Answer : null;
    if (!second) this.secondAnswer = null;
  }

  chooseTask(task: Task): void {
    if (task !== this.setup.task) this.setup = {...this.setup, task, values: initialValues(task), more: ''};
  }

  choose(setup: Setup): void {
    this.setup = copyOf(setup);
  }

  async drop(files: readonly File[]): Promise<void> {
    const dropped = await this.files.drop(files);
    if ('what' in dropped) return void (this.refusal = dropped);
    if (dropped.model.endsWith('.gguf')) {
      this.setup = {...this.setup, task: 'serve', values: {...initialValues('serve'), engine: 'llamacpp'}, more: ''};
    }
    this.setup.model = dropped.model;
    this.askedFor = '';
    this.changed();
  }

  keepAsSecond(): void {
    this.second = copyOf($state.snapshot(this.setup));
  }

  openTable(open: boolean): void {
    this.tableOpen = open;
    if (open && !this.table) void this.compare();
  }

  private take({answer, text, milliseconds}: Outcome): void {
    this.busy = false;
    this.milliseconds = milliseconds;
    if (isRefused(answer)) {
      this.refusal = answer.error;
      return;
    }
    this.refusal = null;
    if (!this.answer) performance.mark('first-answer');
    this.answer = answer as Answer;
    this.json = text;
  }

  private rest(): void {
    history.replaceState(null, '', addressOf(this.setup, this.second));
    this.table = null;
    if (this.tableOpen) void this.compare();
    if (this.setup.task === 'serve') return void (this.step = null);
    void this.ask('timeline', this.setup, [], 'timeline').then(outcome => {
      if (!outcome) return;
      const drawn = outcome.answer as unknown as {step: StepData; categories: string[]};
      this.step = isRefused(outcome.answer) ? null : {...drawn.step, categories: drawn.categories};
    });
  }

  private async compare(): Promise<void> {
    const cuda = (this.catalog?.gpus ?? []).filter(g => g.vendor === 'NVIDIA').map(g => g.id);
    const training = this.setup.task !== 'serve';
    const outcome = await this.ask('table', {...this.setup, gpu: ''}, training ? ['--compare', cuda.join(',')] : ['--compare']);
    if (outcome) this.table = isRefused(outcome.answer) ? null : outcome.answer as unknown as Comparison;
  }

  private async ask(name: string, setup: Setup, further: string[] = [], as = 'json'): Promise<Outcome | null> {
    const argv = name === 'table' ? [command(setup.task), setup.model, ...optionWords(setup), ...further] : [...commandWords(setup), ...further];
    try {
      for (let round = 0; round < MOST_ASKS; ++round) {
        const outcome = await this.client.ask(name, {argv, as}, this.files.all());
        if (!outcome) return null;
        const answer = JSON.parse(outcome.text) as Answer | Refused;
        if (!isRefused(answer) || !answer.wanted) return {answer, ...outcome};
        const brought = await this.files.bring(answer.wanted, setup.model);
        if (typeof brought === 'string') answer.error = {what: brought, where: setup.model, hint: ''};
        if (brought !== true) return {answer, ...outcome};
      }
    } catch (error) {
      if (name === 'answer') {
        this.busy = false;
        this.refusal = {what: `the core gave up: ${error instanceof Error ? error.message : error}`, where: '', hint: 'a smaller model or batch'};
      }
    }
    return null;
  }
}

interface Outcome {
  answer: Answer | Refused;
  text: string;
  milliseconds: number;
}
