import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1PriorityLevelConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import { flowcontrolV1beta1 } from '#api/flowcontrol/v1beta1/flowcontrol.ts'
import type { V1beta1PriorityLevelConfiguration } from '#api/flowcontrol/v1beta1/types.gen.ts'
import { flowcontrolV1beta3 } from '#api/flowcontrol/v1beta3/flowcontrol.ts'
import type { V1beta3PriorityLevelConfiguration } from '#api/flowcontrol/v1beta3/types.gen.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { tryCreateThrough } from '#api/testing/try-kind.ts'

function create<T extends KubernetesObject>(
  definitions: readonly ResourceDefinition[],
  limited: object,
  annotations?: Record<string, string>,
) {
  const definition = definitions.find(({ kind }) => kind === 'PriorityLevelConfiguration') as ResourceDefinition<T>
  const limit = { limitResponse: { type: 'Reject' }, ...limited }
  const level = { metadata: { name: 'a', ...(annotations && { annotations }) }, spec: { type: 'Limited', limited: limit } }
  return tryCreateThrough<T, V1PriorityLevelConfiguration>(definition, level as unknown as T)
}

test('shares had another name', () => {
  for (const [said, shares] of [
    [{ assuredConcurrencyShares: 7 }, 7],
    [{}, 30],
    [{ assuredConcurrencyShares: 0 }, 30],
  ] as [object, number][]) {
    const { object, shown, errors } = create<V1beta1PriorityLevelConfiguration>(flowcontrolV1beta1, said)
    assert.deepEqual([errors, object.spec.limited?.nominalConcurrencyShares], [[], shares])
    assert.equal(shown.spec.limited?.assuredConcurrencyShares, shares)
  }
})

test('no shares at all need an annotation', () => {
  const key = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares'
  const zero = { nominalConcurrencyShares: 0 }
  const unsaid = create<V1beta3PriorityLevelConfiguration>(flowcontrolV1beta3, zero)
  assert.equal(unsaid.object.spec.limited?.nominalConcurrencyShares, 30)
  const said = create<V1beta3PriorityLevelConfiguration>(flowcontrolV1beta3, zero, { [key]: '' })
  assert.deepEqual([said.object.spec.limited?.nominalConcurrencyShares, said.object.metadata?.annotations], [0, undefined])
  assert.deepEqual(said.shown.metadata?.annotations, { [key]: '' })
})
