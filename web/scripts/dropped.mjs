// SPDX-License-Identifier: Apache-2.0
// Files that people, and others, drop on the page.
export const smallConfig = {architectures: ['LlamaForCausalLM'], model_type: 'llama', hidden_size: 512, intermediate_size: 1376, num_attention_heads: 8,
  num_hidden_layers: 4, num_key_value_heads: 4, vocab_size: 32000, max_position_embeddings: 4096, rms_norm_eps: 1e-5, tie_word_embeddings: false,
  hidden_act: 'silu', torch_dtype: 'bfloat16'};

const text = content => Buffer.from(content);

function safetensors(length, header) {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(length));
  return Buffer.concat([size, text(header)]);
}

function gguf(tensors, pairs, rest = Buffer.alloc(0)) {
  const head = Buffer.alloc(24);
  head.write('GGUF');
  head.writeUInt32LE(3, 4);
  head.writeBigUInt64LE(BigInt(tensors), 8);
  head.writeBigUInt64LE(BigInt(pairs), 16);
  return Buffer.concat([head, rest]);
}

export const hostileFiles = () => [
  {name: 'no JSON', files: [{name: 'config.json', bytes: text('not { json')}]},
  {name: 'nested without end', files: [{name: 'config.json', bytes: text('['.repeat(200000))}]},
  {name: 'sizes beyond all bounds', files: [{name: 'config.json', bytes: text(JSON.stringify({...smallConfig, num_hidden_layers: 1e15, hidden_size: 1e15}))}]},
  {name: 'no numbers', files: [{name: 'config.json', bytes: text(JSON.stringify({...smallConfig, hidden_size: '<img src=x onerror=alert(1)>'}))}]},
  {name: 'an empty file', files: [{name: 'config.json', bytes: text('')}]},
  {name: 'a header longer than the file', files: [{name: 'model.safetensors', bytes: safetensors(2 ** 40, '{}')}]},
  {name: 'a header of rubbish', files: [{name: 'model.safetensors', bytes: safetensors(12, '{"a": [1, 2}')}]},
  {name: 'tensors beyond counting', files: [{name: 'model.gguf', bytes: gguf(2 ** 52, 2 ** 52)}]},
  {name: 'a GGUF that ends', files: [{name: 'model.gguf', bytes: gguf(1, 1, text('\x05'))}]},
  {name: 'something else', files: [{name: 'holiday.jpg', bytes: text('\xff\xd8\xff')}]},
];
