// SPDX-License-Identifier: Apache-2.0
// What the page knows and shows: a set-up, its answer, and what follows from the two once the sliders rest.
import {type Advice, type Answer, type AnyAnswer, type Comparison, type Plan, type Plans, type Refusal, type Rule, isComparison, isExplained, isFits, isPlans} from './answer';
import {Client, isRefused, type Refused} from './core/client';
import {type Catalog, loadCatalog} from './model/catalog';
import {Files} from './model/files';
import {addressOf, setupsOf} from './setup/address';
import {INITIAL, QUESTIONS, type Question, type Setup, type Task, commandWords, copyOf, initialValues, questionOf, valuesFor} from './setup/setup';
import {compareWords, speedOf, speedWords} from './setup/further';
import type {StepData} from './timeline/step';

const REST = 180;      // milliseconds without a change, after which the rest is worked out
const MOST_ASKS = 8;   // how often an answer may want more of a file
const FIGURES = ['--quiet'];  // without advice, which is many answers, while the sliders move

export class Page {
  setup: Setup = $state(copyOf(INITIAL));
  second: Setup | null = $state(null);
  catalog: Catalog | null = $state(null);
  shown: AnyAnswer | null = $state.raw(null);
  secondAnswer: Answer | null = $state.raw(null);
  refusal: Refusal | null = $state.raw(null);
  step: StepData | null = $state.raw(null);
  rules: Rule[] = $state.raw([]);
  advice: Advice[] = $state.raw([]);
  adviceIsOld = $state(false);  // of the set-up before, until the sliders rest
  speed: Plan | Refusal | null = $state.raw(null);
  table: Comparison | null = $state.raw(null);
  tableOpen = $state(false);
  evidence: string[] = $state([]);  // names of files of a run
  broken = $state('');
  busy = $state(true);
  milliseconds = $state(0);
  json = '';

  private readonly files = new Files();
  private readonly client = new Client(new URL('./memtape.wasm', document.baseURI).href);
  private resting: ReturnType<typeof setTimeout> | undefined;
  private askedFor = '';
  private lastGpu = INITIAL.gpu;

  constructor() {
    this.read(location.hash);
    addEventListener('hashchange', () => this.read(location.hash));
    loadCatalog().then(c => (this.catalog = c), error => (this.broken = String(error)));
    this.client.ready.then(() => performance.mark('core-loaded'), error => (this.broken = String(error)));
  }

  get question(): Question { return questionOf(this.setup); }

  /** The answer, where it is of one training or server. */
  get answer(): Answer | null {
    const a = this.shown;
    return a && !isComparison(a) && !isPlans(a) && !isFits(a) && !isExplained(a) ? a : null;
  }

  private read(address: string): void {
    if (address === addressOf(this.setup, this.second)) return;
    const {setup, second} = setupsOf(address);
    if (setup) this.setup = setup;
    this.second = second;
  }

  /** Call when the set-up changed. */
  changed(): void {
    const asked = JSON.stringify([this.setup, this.evidence]);
    if (asked === this.askedFor) return;
    this.askedFor = asked;
    if (this.setup.gpu) this.lastGpu = this.setup.gpu;
    this.client.drop('whole', 'timeline', 'table', 'rules', 'speed');
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST);
    if (this.shown && !this.isOf(this.shown)) {
      this.shown = this.step = this.speed = null;
      this.advice = [];
    }
    if (this.setup.task === 'explain' && this.evidence.length === 0) {
      this.busy = false;
      return void (this.refusal = this.shown = null);
    }
    this.busy = true;
    this.adviceIsOld = true;
    const further = this.question === 'which' ? compareWords(this.setup, this.catalog) : this.question === 'fit' ? FIGURES : [];
    if (this.question === 'which' && !this.catalog) return void (this.askedFor = '');  // comes again with the catalog
    void this.ask('answer', [...commandWords(this.setup), ...this.evidenceWords(), ...further]).then(outcome => outcome && this.take(outcome));
  }

  private isOf(shown: AnyAnswer): boolean {
    const kind = isComparison(shown) ? 'which' : isPlans(shown) ? 'plan' : isFits(shown) ? 'mine' : isExplained(shown) ? 'explain' : 'fit';
    return kind === this.question;
  }

  private evidenceWords(): string[] { return this.setup.task === 'explain' ? [...this.evidence] : []; }

  /** Call when the second set-up changed. */
  async secondChanged(): Promise<void> {
    history.replaceState(null, '', addressOf(this.setup, this.second));
    const second = this.second && $state.snapshot(this.second);
    const outcome = second && await this.ask('second', commandWords(second));
    if (outcome) this.secondAnswer = outcome.answer && !isRefused(outcome.answer) ? outcome.answer as Answer : null;
    if (!second) this.secondAnswer = null;
  }

  chooseTask(task: Task): void {
    if (task !== this.setup.task) this.setup = {...this.setup, task, values: valuesFor(task, this.setup.values), more: ''};
  }

  chooseQuestion(question: Question): void {
    if (question === this.question) return;
    const tasks = QUESTIONS.find(q => q.key === question)!.tasks;
    const task = tasks.find(t => t.key === this.setup.task)?.key ?? tasks.find(t => t.key.endsWith(this.setup.task))?.key ?? tasks[0].key;
    this.second = null;
    this.setup = {...this.setup, task, gpu: question === 'which' ? '' : this.setup.gpu || this.lastGpu,
      ...(task === this.setup.task ? {} : {values: valuesFor(task, this.setup.values), more: ''})};
  }

  choose(setup: Setup): void {
    this.setup = copyOf(setup);
  }

  async drop(files: readonly File[]): Promise<void> {
    const dropped = await this.files.drop(files);
    if ('what' in dropped) return void (this.refusal = dropped);
    if ('evidence' in dropped) {
      this.setup = {...this.setup, task: 'explain', values: {}, more: ''};
      this.evidence = dropped.evidence;
    } else {
      const gguf = dropped.model.endsWith('.gguf');
      if (gguf) this.setup = {...this.setup, task: 'serve', values: {...initialValues('serve'), engine: 'llamacpp'}, more: ''};
      else if (this.setup.task === 'mine' || this.setup.task === 'explain') this.chooseTask('train');
      this.setup.model = dropped.model;
    }
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

  /** The page that `memtape explain --html` writes, as text. */
  async evidencePage(): Promise<string | null> {
    const outcome = await this.ask('page', ['explain', ...this.evidence], 'html', false);
    return outcome?.text ?? null;
  }

  private take({answer, text, milliseconds}: Outcome): void {
    this.busy = false;
    this.milliseconds = milliseconds;
    if (isRefused(answer)) {
      this.refusal = answer.error;
      return;
    }
    this.refusal = null;
    if (!this.shown) performance.mark('first-answer');
    this.shown = answer as AnyAnswer;
    this.json = text;
    if (this.answer?.verdict === 'fits') this.advice = [];
  }

  /** The answer with its advice. */
  private async askWhole(): Promise<void> {
    const outcome = await this.ask('whole', commandWords(this.setup));
    if (!outcome) return;
    this.advice = isRefused(outcome.answer) ? [] : (outcome.answer as Answer).advice;
    this.adviceIsOld = false;
    if (!isRefused(outcome.answer)) this.json = outcome.text;
  }

  private rest(): void {
    history.replaceState(null, '', addressOf(this.setup, this.second));
    this.table = null;
    if (this.question !== 'fit') return void (this.step = null);
    void this.askWhole();
    if (this.tableOpen) void this.compare();
    if (this.setup.task !== 'serve') this.askStep();
    else {
      this.rules = [];
      this.step = null;
    }
    void this.askSpeed();
  }

  private askStep(): void {
    const words = commandWords(this.setup);
    void this.ask('timeline', words, 'timeline').then(outcome => {
      if (!outcome) return;
      const drawn = outcome.answer as unknown as {step: StepData; categories: string[]};
      this.step = isRefused(outcome.answer) ? null : {...drawn.step, categories: drawn.categories};
    });
    void this.ask('rules', [...words, '--rules']).then(outcome => {
      if (outcome) this.rules = isRefused(outcome.answer) ? [] : (outcome.answer as Answer).rules ?? [];
    });
  }

  private async askSpeed(): Promise<void> {
    const words = speedWords($state.snapshot(this.setup));
    if (typeof words === 'string') return void (this.speed = {what: words, where: '', hint: ''});
    const outcome = await this.ask('speed', words);
    if (outcome) this.speed = isRefused(outcome.answer) ? outcome.answer.error : speedOf(outcome.answer as unknown as Plans, this.setup);
  }

  private async compare(): Promise<void> {
    const setup = {...$state.snapshot(this.setup), gpu: ''};
    const outcome = await this.ask('table', [...commandWords(setup), ...compareWords(setup, this.catalog)]);
    if (outcome) this.table = isRefused(outcome.answer) ? null : outcome.answer as unknown as Comparison;
  }

  private async ask(name: string, argv: string[], as = 'json', parsed = true): Promise<Outcome | null> {
    const model = this.setup.model;
    try {
      for (let round = 0; round < MOST_ASKS; ++round) {
        const outcome = await this.client.ask(name, {argv, as}, this.files.all());
        if (!outcome) return null;
        const answer = parsed || outcome.exitCode > 1 ? JSON.parse(outcome.text) as AnyAnswer | Refused : {} as AnyAnswer;
        if (!isRefused(answer) || !answer.wanted) return {answer, ...outcome};
        const brought = await this.files.bring(answer.wanted, model);
        if (typeof brought === 'string') answer.error = {what: brought, where: model, hint: ''};
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
  answer: AnyAnswer | Refused;
  text: string;
  milliseconds: number;
}
