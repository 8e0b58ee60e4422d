// SPDX-License-Identifier: Apache-2.0
// gallery.mjs FOLDER PROGRAM: the README's pictures of the page and of the HTML report, as docs/gallery/*.webp, light and dark. FOLDER
// is the built page. The picture of the terminal needs no browser: scripts/gallery.py.
import {execFileSync} from 'node:child_process';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {chromium} from 'playwright-core';
import {serve} from './serve.mjs';

const [folder, program] = process.argv.slice(2);
const gallery = new URL('../../docs/gallery/', import.meta.url).pathname;
const QUALITY = 0.66, SIZE = {width: 1240, height: 980};
const server = await serve(resolve(folder));
const browser = await chromium.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--hide-scrollbars']});
const scratch = await mkdtemp(join(tmpdir(), 'memtape-'));

/** What is in view as WebP, which the browser itself writes. */
async function picture(page, name) {
  const png = await page.screenshot();
  const painter = await page.context().newPage();
  const base64 = await painter.evaluate(async ({png, quality}) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), {width: image.width, height: image.height});
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', quality).split(',')[1];
  }, {png: png.toString('base64'), quality: QUALITY});
  await painter.close();
  const bytes = Buffer.from(base64, 'base64');
  await writeFile(join(gallery, `${name}.webp`), bytes);
  console.error(`${name}.webp: ${bytes.length} bytes`);
}

async function pageIn(colorScheme, address, ready) {
  const context = await browser.newContext({viewport: SIZE, colorScheme});
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForSelector(ready, {timeout: 120000});
  await page.waitForTimeout(1500);  // the picture is drawn, nothing moves any more
  return page;
}

const report = join(scratch, 'step.html');
execFileSync(resolve(program), ['train', 'Qwen/Qwen3-8B', '--gpu', 'h100-80gb', '--html', report, '--quiet'], {stdio: 'ignore', env: {PATH: process.env.PATH, HOME: scratch}});
for (const colour of ['light', 'dark']) {
  const page = await pageIn(colour, `${server.address}#task=train&model=meta-llama/Llama-3.1-8B&gpu=h100-80gb`, 'canvas.lines');
  await picture(page, `page-${colour}`);
  await page.context().close();
  const html = await pageIn(colour, `file://${report}`, 'canvas, svg');
  await picture(html, `report-${colour}`);
  await html.context().close();
}
await browser.close();
server.close();
await rm(scratch, {recursive: true});
