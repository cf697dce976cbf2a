/** What must hold for any object of any kind that somebody applies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepCopy, deepFreeze } from '#api/meta/deep-copy.ts'
import type { JsonObject } from '#api/meta/patch/json-value.ts'
import { randomObject } from '#api/meta/patch/testing/random-json.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaNames, schemaOf } from '#api/schema/schema.ts'
import type { TypeSchema } from '#api/schema/type-schema.ts'
import { seededRandom } from '#base/random.ts'
import { atOnce } from '#base/steps.ts'
import { FieldManager } from './field-manager.ts'
import { intersectionOf, ordered } from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'
import { mergeObjects } from './merge-objects.ts'
import { pruning } from './prune.ts'
import { readFieldSet } from './read-field-set.ts'
import { emptyObject, mergeTypeOf } from './schema-merge-type.ts'

const [noon, later] = ['2026-01-01T12:00:00Z', '2026-01-01T13:00:00Z']

type Kind = { schema: TypeSchema; manager: FieldManager; random(seed: number): KubernetesObject }

function kinds(): Kind[] {
  return schemaNames()
    .map(schemaOf)
    .filter(
      ({ name, groupVersionKinds, fieldsByName }) =>
        groupVersionKinds.length === 1 && fieldsByName.has('metadata') && !fieldsByName.has('items') && name.startsWith('io.k8s.api.'),
    )
    .map((schema) => {
      const { group, version, kind } = schema.groupVersionKinds[0] ?? { group: '', version: '', kind: '' }
      const apiVersion = group === '' ? version : `${group}/${version}`
      const manager = new FieldManager({ apiVersion, kind, type: mergeTypeOf(schema), empty: emptyObject(schema) })
      const random = (seed: number): KubernetesObject => {
        const object = randomObject(schema, seededRandom(seed))
        const { labels = {}, annotations = {}, finalizers = ['a/b'] } = (object['metadata'] ?? {}) as JsonObject
        return deepFreeze({ ...object, apiVersion, kind, metadata: { name: 'x', labels, annotations, finalizers } }) as KubernetesObject
      }
      return { schema, manager, random }
    })
}

/** Calls `check` some times for each kind, with a seed that tells the case. */
function forEachKind(rounds: number, check: (kind: Kind, seed: number, why: string) => void): void {
  for (const [index, kind] of kinds().entries()) {
    for (let round = 0; round < rounds; round++) {
      const seed = index * 100 + round
      check(kind, seed, `${kind.schema.name}, seed ${seed}`)
    }
  }
}

const plain = (object: KubernetesObject): unknown => {
  const { managedFields: _, ...metadata } = deepCopy(object).metadata ?? {}
  return { ...object, metadata }
}

test('[SA4] applying twice changes nothing', () => {
  forEachKind(4, ({ manager, random }, seed, why) => {
    const config = random(seed)
    const live = deepFreeze(manager.applied(undefined, config, { manager: 'one', time: noon }))
    assert.deepEqual(plain(live), config, why)
    assert.deepEqual(manager.applied(live, config, { manager: 'one', time: later }), live, why)
  })
})

test('[SA11] who owns everything and applies something else leaves only that', () => {
  forEachKind(4, ({ manager, random }, seed, why) => {
    const [first, second] = [random(seed), random(seed + 50)]
    const live = deepFreeze(manager.applied(undefined, first, { manager: 'one', time: noon }))
    const next = manager.applied(live, second, { manager: 'one', time: later })
    assert.deepEqual(filled(plain(next)), filled(second), why)
  })
})

/** Without what is empty: a map of which nothing is left may be null. */
function filled(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? value.map(filled) : undefined
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const fields = Object.entries(value).map(([key, field]) => [key, filled(field)] as const)
  const left = fields.filter(([, field]) => field !== undefined)
  return left.length > 0 ? Object.fromEntries(left) : undefined
}

test('[SA11] pruning takes nothing where nothing was given up', () => {
  forEachKind(4, ({ schema, random }, seed, why) => {
    const type = mergeTypeOf(schema)
    const [live, config, earlier] = [random(seed), random(seed + 50), random(seed + 70)].map((object) => deepCopy(object) as JsonObject)
    const entry = { manager: 'one', operation: 'Apply', apiVersion: 'x/v1', subresource: '', time: noon } as const
    const merged = mergeObjects(live ?? {}, config ?? {}, type)
    const set = fieldSetOf(config ?? {}, type)
    const last = { ...entry, set: intersectionOf(set, fieldSetOf(earlier ?? {}, type)) }
    const versions = { apiVersion: 'x/v1', type, convert: () => undefined }
    assert.deepEqual(atOnce(pruning(merged, last, new Map([['one', { ...entry, set }]]), versions)), merged, why)
  })
})

test('[SA11] what two appliers own together stays when either gives it up', () => {
  forEachKind(2, ({ manager, random }, seed, why) => {
    const config = random(seed)
    const bare = { apiVersion: config.apiVersion, kind: config.kind, metadata: { name: 'x' } } as KubernetesObject
    const one = deepFreeze(manager.applied(undefined, config, { manager: 'one', time: noon }))
    const both = deepFreeze(manager.applied(one, config, { manager: 'two', time: noon }))
    const left = manager.applied(both, bare, { manager: 'one', time: later })
    assert.deepEqual(plain(left), config, why)
  })
})

test('[SA2] an update that turns an applied object into another leaves owners of exactly what there is', () => {
  forEachKind(4, ({ manager, random }, seed, why) => {
    const [first, second] = [random(seed), random(seed + 50)]
    const live = deepFreeze(manager.applied(undefined, first, { manager: 'one', time: noon }))
    const next = manager.updated(live, deepCopy(second), { manager: 'two', time: later })
    for (const { fieldsV1 } of next.metadata?.managedFields ?? []) {
      assert.ok(fieldsV1 !== undefined, why)
      assert.equal(JSON.stringify(readFieldSet(fieldsV1)), JSON.stringify(fieldsV1), `${why}: stored sets are in order`)
      assert.equal(ordered(fieldsV1), fieldsV1, why)
    }
    const taken = deepFreeze(deepCopy(next))
    assert.throws(
      () => {
        const again = manager.applied(taken, first, { manager: 'three', time: later })
        // Without a conflict nothing that anybody owned was changed.
        assert.deepEqual(plain(again), plain(manager.applied(taken, first, { manager: 'three', time: later, force: true })), why)
        throw new Error('no conflict')
      },
      /no conflict|Apply failed with/,
      why,
    )
  })
})
