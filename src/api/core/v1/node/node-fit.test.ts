import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Taint, V1Toleration } from '#api/core/v1/types.gen.ts'
import { fitsNodeLabels, untoleratedTaint } from './node-fit.ts'
import { toleratesTaint } from './tolerations.ts'

test('a toleration matches by effect, key, and value', () => {
  const taint = (value = '', effect = 'NoSchedule'): V1Taint => ({ key: 'k', value, effect })
  const big = 2n ** 60n
  const cases: [V1Toleration, V1Taint, boolean][] = [
    [{ key: 'k', operator: 'Exists' }, taint('a'), true],
    [{ operator: 'Exists' }, taint('a'), true],
    [{ key: 'other', operator: 'Exists' }, taint('a'), false],
    [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }, taint('a'), false],
    [{ key: 'k', operator: 'Equal', value: 'a' }, taint('a'), true],
    [{ key: 'k', operator: 'Equal', value: 'b' }, taint('a'), false],
    // No operator, or an empty one, is Equal.
    [{ key: 'k', value: 'a' }, taint('a'), true],
    [{ key: 'k', operator: '', value: 'a' }, taint('a'), true],
    [{ operator: 'Equal' }, taint(), true],
    [{ key: 'k', operator: 'Gt', value: '5' }, taint('6'), true],
    [{ key: 'k', operator: 'Lt', value: '5' }, taint('6'), false],
    [{ key: 'k', operator: 'Gt', value: '5' }, taint('x'), false],
    // A double cannot tell these two apart.
    [{ key: 'k', operator: 'Gt', value: String(big) }, taint(String(big + 1n)), true],
    [{ key: 'k', operator: 'Sometimes' }, taint('a'), false],
  ]
  for (const [toleration, given, is] of cases) assert.equal(toleratesTaint(toleration, given), is, JSON.stringify([toleration, given]))
})

test('only taints of the asked effects count', () => {
  const taints = [
    { key: 'soft', effect: 'PreferNoSchedule' },
    { key: 'hard', effect: 'NoSchedule' },
  ]
  assert.equal(untoleratedTaint(taints, [], ['NoSchedule', 'NoExecute'])?.key, 'hard')
  assert.equal(untoleratedTaint(taints, [{ key: 'hard', operator: 'Exists' }], ['NoSchedule', 'NoExecute']), undefined)
  assert.equal(untoleratedTaint(undefined, undefined, ['NoSchedule']), undefined)
})

test('labels are compared as numbers without loss', () => {
  const node = { spec: {}, metadata: { name: 'n', labels: { generation: String(2n ** 60n + 1n) } } }
  const wants = (operator: string, value: string) => ({
    containers: [],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'generation', operator, values: [value] }] }],
        },
      },
    },
  })
  assert.equal(fitsNodeLabels(wants('Gt', String(2n ** 60n)), node), true)
  assert.equal(fitsNodeLabels(wants('Lt', String(2n ** 60n)), node), false)
  assert.equal(fitsNodeLabels({ containers: [], nodeSelector: { zone: 'a' } }, node), false)
  assert.equal(fitsNodeLabels({ containers: [] }, node), true)
})
