// SPDX-License-Identifier: Apache-2.0
// browser_test.mjs FOLDER [SCREENSHOTS]: the built page in a real Chromium, as people use it. Prints what each step measured; the
// first thing that is not as it should be ends it with exit code 1. Its parts are in check.mjs's order: see scripts/check_web.sh.
import assert from 'node:assert/strict';
import {resolve} from 'node:path';
import {chromium} from 'playwright-core';
import {hostileFiles, smallConfig} from './dropped.mjs';
import {serve} from './serve.mjs';

const [folder, screenshots] = process.argv.slice(2);
const FIRST_ANSWER = 1000, EXACT_STEP = 100;  // milliseconds, the budgets of docs/web.md
const SLOWER = Number(process.env.MEMTAPE_SLOWER ?? 1);  // how much slower this machine is at the moment than one at rest

const server = await serve(resolve(folder));
const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update']});

const size = page => page.locator('.answer .size b').first().textContent();
const idle = page => page.waitForFunction(() => document.querySelector('.answer')?.getAttribute('aria-busy') === 'false');
const shot = async (page, name, full = true) => screenshots && page.screenshot({path: `${screenshots}/${name}.png`, fullPage: full});

async function open(hash = '', options = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
  const page = await context.newPage();
  page.problems = [];
  page.on('pageerror', error => page.problems.push(String(error)));
  page.on('console', message => { if (message.type() === 'error') page.problems.push(message.text()); });
  page.on('request', request => { if (!request.url().startsWith(server.address) && !/^(data|blob):/.test(request.url())) page.problems.push(`asks ${request.url()}`); });
  await page.goto(server.address + hash);
  return page;
}

async function drop(page, files) {
  await page.evaluate(files => {
    const transfer = new DataTransfer();
    for (const {name, base64} of files) transfer.items.add(new File([Uint8Array.from(atob(base64), c => c.charCodeAt(0))], name));
    window.dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true, cancelable: true}));
  }, files.map(({name, bytes}) => ({name, base64: Buffer.from(bytes).toString('base64')})));
}

const tests = {
  async 'loads and answers'() {
    const page = await open();
    await page.waitForSelector('.answer .size b');
    const took = await page.evaluate(() => performance.now());
    const core = await page.evaluate(() => performance.getEntriesByName('first-answer')[0]?.startTime);
    const loaded = await page.evaluate(() => performance.getEntriesByName('core-loaded')[0]?.startTime);
    console.log(`  first answer ${core?.toFixed(0)} ms after the start, ${(core - loaded).toFixed(0)} ms after the module (seen at ${took.toFixed(0)} ms)`);
    assert.ok(core - loaded < FIRST_ANSWER * SLOWER, `first answer ${core - loaded} ms after load`);
    assert.match(await page.locator('.verdict').first().textContent(), /fits|does not fit|may not fit/);
    await page.waitForSelector('canvas.lines');
    await page.waitForTimeout(600);
    await shot(page, 'train');
    return page;
  },
  async 'follows a dragged slider'() {
    const page = await open('#task=train&model=Qwen/Qwen3-8B&gpu=h100-80gb');
    await page.waitForSelector('.answer .size b');
    await idle(page);
    const before = await size(page);
    const box = await page.locator('#control-batch').boundingBox();
    await page.mouse.move(box.x + 10, box.y + box.height / 2);
    await page.mouse.down();
    const seen = new Set([before]), steps = [];
    for (let i = 1; i <= 12; ++i) {
      await page.mouse.move(box.x + 10 + (box.width - 20) * i / 12, box.y + box.height / 2);
      await page.waitForTimeout(120);
      seen.add(await size(page));
      steps.push(parseFloat(await page.locator('.time').textContent()));
    }
    await page.mouse.up();
    await idle(page);
    steps.sort((a, b) => a - b);
    console.log(`  ${seen.size} different answers on the way; a step takes ${steps[steps.length >> 1]} ms (median), ${steps.at(-1)} ms at most`);
    assert.ok(seen.size > 4, 'the answer follows the slider');
    assert.ok(steps[steps.length >> 1] < EXACT_STEP * SLOWER * 2, `a step takes ${steps[steps.length >> 1]} ms`);
    assert.match(page.url(), /batch=128/);
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() => location.hash.includes('batch=96'));
    return page;
  },
  async 'shares a link'() {
    const hash = '#task=serve&model=Qwen/Qwen3-32B&gpu=h100-80gb&users=48&context=8192&gpus=2';
    const page = await open(hash), other = await open(hash);
    for (const p of [page, other]) { await p.waitForSelector('.answer .size b'); await idle(p); }
    assert.equal(await size(page), await size(other));
    assert.match(await page.locator('pre').textContent(), /memtape serve Qwen\/Qwen3-32B --gpu h100-80gb --engine vllm --users 48 --context 8192 --output 512 --tp 2/);
    await shot(page, 'serve');
    await other.context().close();
    const broken = await open('#task=serve&gpu=nothing&users=99999999&engine=%3Cscript%3E&vs.task=zzz');
    await broken.waitForSelector('.refusal');
    assert.match(await broken.locator('.refusal').textContent(), /nothing/);
    await broken.context().close();
    return page;
  },
  async 'reads dropped files, hostile ones, too'() {
    const page = await open('#task=train&model=Qwen/Qwen3-0.6B&gpu=rtx-4090');
    await page.waitForSelector('.answer .size b');
    await drop(page, [{name: 'config.json', bytes: Buffer.from(JSON.stringify(smallConfig))}]);
    await page.waitForFunction(() => document.querySelector('pre')?.textContent.includes('config.json'));
    await idle(page);
    assert.equal(await page.locator('.refusal').count(), 0);
    const good = await size(page);
    for (const {name, files} of hostileFiles()) {
      await drop(page, files);
      await page.waitForSelector('.refusal', {timeout: 20000});
      console.log(`  ${name}: ${(await page.locator('.refusal').first().textContent()).trim().slice(0, 110)}`);
      await page.locator('input[value="train"]').check({force: true});
      await drop(page, [{name: 'config.json', bytes: Buffer.from(JSON.stringify(smallConfig))}]);
      await page.waitForFunction(() => document.querySelector('.answer')?.getAttribute('aria-busy') === 'false' && !document.querySelector('.refusal'), null, {timeout: 20000});
      assert.equal(await size(page), good);
    }
    return page;
  },
  async 'sets two set-ups side by side'() {
    const page = await open('#task=tune&model=meta-llama/Llama-3.1-8B&gpu=rtx-4090');
    await page.waitForSelector('.answer .size b');
    await page.getByRole('button', {name: 'Compare with another set-up'}).click();
    await page.getByRole('radio', {name: 'QLoRA'}).check({force: true});
    await page.waitForSelector('.difference');
    await idle(page);
    await page.waitForTimeout(700);
    assert.match(page.url(), /vs\.task=tune/);
    await shot(page, 'beside');
    const again = await open(new URL(page.url()).hash);
    await again.waitForSelector('.difference');
    await again.context().close();
    return page;
  },
  async 'lists every GPU'() {
    const page = await open('#task=tune&model=meta-llama/Llama-3.1-8B&gpu=rtx-4090');
    await page.waitForSelector('.answer .size b');
    await page.locator('summary', {hasText: 'On every GPU'}).click();
    await page.waitForSelector('.tall tbody tr');
    assert.ok(await page.locator('.tall tbody tr').count() > 60);
    await page.locator('.tall tbody tr button').first().click();
    await idle(page);
    await page.waitForTimeout(600);
    await shot(page, 'gpus');
    return page;
  },
  async 'works from the keyboard alone'() {
    const page = await open();
    await page.waitForSelector('.answer .size b');
    await page.getByRole('combobox', {name: 'Model'}).focus();
    await page.keyboard.type('qwen3-0.6');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('pre')?.textContent.includes('Qwen/Qwen3-0.6B'));
    await page.getByRole('combobox', {name: 'GPU'}).focus();
    await page.keyboard.type('rtx 4090');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelector('pre')?.textContent.includes('rtx-4090'));
    await idle(page);
    await page.locator('canvas.lines').focus();
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() => /After event/.test(document.querySelector('.moment')?.textContent ?? ''));
    return page;
  },
  async 'fits a phone'() {
    const page = await open('', {viewport: {width: 390, height: 844}, deviceScaleFactor: 2, isMobile: true, hasTouch: true});
    await page.waitForSelector('.answer .size b');
    await page.waitForTimeout(700);
    const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
    await shot(page, 'phone');
    assert.ok(wide <= 0, `${wide} pixels wider than the phone`);
    return page;
  },
  async 'is dark where that is wanted'() {
    const page = await open('', {colorScheme: 'dark'});
    await page.waitForSelector('canvas.lines');
    await page.waitForTimeout(700);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await shot(page, 'dark');
    return page;
  },
};

let failed = 0;
const only = process.env.ONLY;
for (const [name, test] of Object.entries(tests)) {
  if (only && !name.includes(only)) continue;
  try {
    console.log(name);
    const page = await test();
    assert.deepEqual(page.problems, []);
    await page.context().close();
  } catch (error) {
    ++failed;
    console.log(`  FAILED: ${error.stack}`);
  }
}
await browser.close();
server.close();
process.exit(failed ? 1 : 0);
