import assert from 'node:assert/strict'
import { test } from 'node:test'
import { customResourceDefinitionResource } from '#api/apiextensions/v1/custom-resource-definition.ts'
import type { V1CustomResourceDefinition, V1JSONSchemaProps } from '#api/apiextensions/v1/types.gen.ts'
import { fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import type { Steps } from '#base/steps.ts'

const context = { now: '2026-01-01T00:00:00Z', isEnabled: () => true }

function definition(openAPIV3Schema: V1JSONSchemaProps): V1CustomResourceDefinition {
  const names = { plural: 'as', kind: 'A', singular: 'a', listKind: 'AList' }
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }]
  return {
    metadata: { name: 'as.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions, conversion: { strategy: 'None' } },
    status: { storedVersions: ['v1'] },
  }
}

/** How often each step looks at the innermost schema. */
function looksInEachStep(schemaAround: (inner: V1JSONSchemaProps) => V1JSONSchemaProps, isUpdate = false): number[] {
  let looks = 0
  const inner = {
    type: 'object',
    get properties() {
      looks++
      return {}
    },
  }
  const object = definition({ type: 'object', properties: { spec: schemaAround(inner) } })
  const check = new Check(object)
  const rules = customResourceDefinitionResource
  const steps = (
    isUpdate ? rules.validateUpdate?.(object, object, check, context) : rules.validate?.(object, check, context)
  ) as Steps<void>
  const counts: number[] = []
  for (let step = steps.next(); ; step = steps.next()) {
    counts.push(looks)
    looks = 0
    if (step.done) break
  }
  assert.deepEqual(check.errors.map(fieldErrorText), [])
  return counts
}
const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0)
const object = (properties: Record<string, V1JSONSchemaProps>, more: V1JSONSchemaProps = {}): V1JSONSchemaProps => ({
  type: 'object',
  properties,
  ...more,
})

test('no step of the validation goes through a schema more than a few times', () => {
  for (const isUpdate of [false, true]) {
    const counts = looksInEachStep((a) => object({ a }), isUpdate)
    assert.ok(sum(counts) >= 10, `${counts}`)
    assert.ok(Math.max(...counts) <= 5, `${counts}`)
  }
})

test('what all versions share is found out in a step of its own', () => {
  for (const isUpdate of [false, true]) {
    const object = definition({ type: 'object' })
    let looks = 0
    const versions = object.spec.versions.flatMap((version) => [
      version,
      Object.defineProperty({ ...version, name: 'v2', storage: false }, 'subresources', {
        enumerable: true,
        get: () => void looks++,
      }),
    ])
    object.spec.versions = versions
    const check = new Check(object)
    const { validate, validateUpdate } = customResourceDefinitionResource
    const steps = (isUpdate ? validateUpdate?.(object, object, check, context) : validate?.(object, check, context)) as Steps<void>
    const counts: number[] = []
    for (let step = steps.next(); !step.done; step = steps.next()) counts.push(looks)
    assert.deepEqual(check.errors.map(fieldErrorText), [])
    const once = counts[0] ?? 0
    assert.ok(once > 0)
    const expected = counts.map((_, index) => (isUpdate && index > 0 ? 2 * once : once))
    assert.deepEqual(counts, expected)
  }
})

test('each rule is a step, and neither goes through the schema again nor through the names of its fields', () => {
  const ruled = (count: number) => {
    let listings = 0
    const looks = looksInEachStep((a) => {
      const ownKeys = (target: Record<string, V1JSONSchemaProps>) => {
        listings++
        return Reflect.ownKeys(target)
      }
      const rule = { rule: 'true', fieldPath: '.a', message: 'm' }
      return object(new Proxy({ a }, { ownKeys }), { 'x-kubernetes-validations': Array.from({ length: count }, () => rule) })
    })
    return { looks, listings }
  }
  const [one, many] = [ruled(1), ruled(50)]
  assert.equal(many.looks.length - one.looks.length, 49)
  assert.equal(sum(many.looks), sum(one.looks))
  assert.equal(many.listings, one.listings)
})

test('defaults inside of each other are steps, and do not go through the schema again', () => {
  const nested = (depth: number) =>
    looksInEachStep((a) => {
      let schema = object({ a })
      for (let level = 0; level < depth; level++) schema = object({ b: schema }, { default: {} })
      return schema
    })
  const [one, many] = [nested(1), nested(50)]
  assert.equal(many.length - one.length, 49)
  assert.equal(sum(many), sum(one))
})
