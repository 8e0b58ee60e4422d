// SPDX-License-Identifier: Apache-2.0
import './app.css';
import {mount} from 'svelte';
import App from './App.svelte';

// Before anything is drawn: what was chosen here, else what the system has.
const chosen = localStorage.getItem('theme');
document.documentElement.dataset.theme = chosen ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

mount(App, {target: document.getElementById('app')!});
