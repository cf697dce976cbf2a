import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInKinds } from '#api/kinds.ts'
import { systemClock } from '#base/clock.ts'
import { OpenApiDocuments } from './documents.ts'

test('what is served as before has the document it had; all others have another', () => {
  const of = (name: string) => builtInKinds.filter(({ group, version }) => `${group}/${version}` === name)
  let served = [...of('apps/v1'), ...of('batch/v1')]
  const scheme = {
    revision: 1,
    *definitions() {
      yield* served
    },
  }
  const documents = new OpenApiDocuments({ scheme, version: '1', clock: systemClock })
  const before = documents.index()
  served = [...of('apps/v1'), ...of('batch/v1').slice(1), ...of('policy/v1')]
  scheme.revision++
  const after = documents.index()
  for (const name of ['apis/apps/v1', 'apis/apps', 'apis/batch', 'version']) assert.equal(after.get(name), before.get(name), name)
  assert.notEqual(after.get('apis/batch/v1')?.hash, before.get('apis/batch/v1')?.hash)
  assert.ok(after.has('apis/policy/v1') && !before.has('apis/policy/v1'))
  served = served.filter(({ group }) => group !== 'apps')
  scheme.revision++
  assert.equal(documents.index().has('apis/apps/v1'), false)
  assert.equal(documents.isGone('apis/apps/v1'), true)
})
