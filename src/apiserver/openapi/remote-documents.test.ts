import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedParts, type SwaggerParts } from './remote-documents.ts'

const ref = (name: string) => ({ $ref: `#/definitions/${name}` })
const parts = (paths: object, definitions: object): SwaggerParts => ({ paths, definitions, parameters: {} }) as SwaggerParts

test('types that all servers have are left out, others are taken over', () => {
  const one = parts({ '/a': { get: ref('A') } }, { A: { properties: { meta: ref('ObjectMeta') } }, ObjectMeta: { type: 'object' } })
  assert.deepEqual(
    mergedParts([one], (name) => name === 'ObjectMeta'),
    { paths: { '/a': { get: ref('A') } }, definitions: { A: { properties: { meta: ref('ObjectMeta') } } }, parameters: {} },
  )
})

test('two servers that mean the same by a name share it, two that do not get two names', () => {
  const one = parts({ '/a': ref('A') }, { A: { type: 'string' } })
  const same = parts({ '/b': ref('A') }, { A: { type: 'string' } })
  const other = parts({ '/c': { schema: ref('A') } }, { A: { type: 'integer' }, B: { items: [ref('A')] } })
  const { paths, definitions } = mergedParts([one, same, other], () => false)
  assert.deepEqual(paths, { '/a': ref('A'), '/b': ref('A'), '/c': { schema: ref('A_v2') } })
  assert.deepEqual(definitions, { A: { type: 'string' }, A_v2: { type: 'integer' }, B: { items: [ref('A_v2')] } })
})
