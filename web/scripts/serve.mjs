// SPDX-License-Identifier: Apache-2.0
// A static server for tests: sends the .br beside a file where the browser takes it.
import {createReadStream, existsSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';

const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml', '.wasm': 'application/wasm'};

/** Serves `folder` on a free port; {address, close}. */
export async function serve(folder) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    const file = join(folder, path.endsWith('/') ? path + 'index.html' : path);
    if (!file.startsWith(folder) || !existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
    const brotli = existsSync(file + '.br') && /\bbr\b/.test(request.headers['accept-encoding'] ?? '');
    response.writeHead(200, {'content-type': TYPES[extname(file)] ?? 'application/octet-stream', ...(brotli ? {'content-encoding': 'br'} : {})});
    createReadStream(brotli ? file + '.br' : file).pipe(response);
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return {address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close()};
}
