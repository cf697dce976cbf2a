import assert from 'node:assert/strict'
import { test } from 'node:test'
import { annotationsOfNewSet } from '#controllers/deployment/revisions.ts'

const historyAfter = (history: string) =>
  annotationsOfNewSet(
    { metadata: {}, spec: { selector: {}, template: { spec: { containers: [] } } } },
    { 'deployment.kubernetes.io/revision': '7', 'deployment.kubernetes.io/revision-history': history },
    9n,
  )['deployment.kubernetes.io/revision-history']

test('the history keeps the newest revisions that have room, however long somebody made it', () => {
  assert.equal(historyAfter('1,3'), '1,3,7')
  assert.equal(historyAfter(`1,${'2'.repeat(1997)}`), `${'2'.repeat(1997)},7`)
  assert.equal(historyAfter('2'.repeat(1999)), '7')
  assert.equal(historyAfter(','.repeat(1_000_000)), `${','.repeat(1999)}7`)
})
