import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalize } from '#api/codec/json.ts'
import { randomObject } from '#api/codec/random-object.ts'
import { builtInKinds } from '#api/kinds.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { apiVersionOf } from '#api/meta/gvk.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { schemaOf } from '#api/schema/schema.ts'
import { fromStored, toStored } from '#api/scheme.ts'
import { seededRandom } from '#base/random.ts'

const legacy = builtInKinds.filter(({ stability }) => stability === 'legacy')
const roundsOfEach = 100

const nameOf = (definition: ResourceDefinition): string => `${apiVersionOf(definition)} ${definition.kind}`

/** As the store has it: in the shape of the stored type, and nothing else. */
function stored(object: KubernetesObject, definition: ResourceDefinition): KubernetesObject {
  const { storedAs } = definition
  return storedAs === undefined ? object : canonicalize(toStored(deepCopy(object), definition), storedAs.definition.schema)
}

test('objects of every old version come back from the store unchanged', () => {
  const seed = 20260731
  const random = seededRandom(seed)
  for (const definition of legacy) {
    const type = schemaOf(definition.schema)
    for (let round = 0; round < roundsOfEach; round++) {
      const object = { ...randomObject(type, random), kind: definition.kind, apiVersion: apiVersionOf(definition) } as KubernetesObject
      const back = fromStored(deepCopy(stored(object, definition)), definition)
      assert.deepEqual(canonicalize(back, type), canonicalize(object, type), `${nameOf(definition)}, seed ${seed}, round ${round}`)
    }
  }
})
