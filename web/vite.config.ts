// SPDX-License-Identifier: Apache-2.0
import {svelte} from '@sveltejs/vite-plugin-svelte';
import {defineConfig} from 'vite';

// public/ holds what scripts/build_web.sh makes: memtape.wasm, catalog.json. All addresses are relative, so that the page may lie in
// any folder of any server.
export default defineConfig({
  base: './',
  plugins: [svelte()],
  worker: {format: 'es'},
  build: {outDir: '../build/web', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, modulePreload: {polyfill: false}},
});
