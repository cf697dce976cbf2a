import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Check } from '#api/meta/check.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { atOnce } from '#base/steps.ts'
import { defineServedKind } from '#cmd/extension-server/define-served-kind.ts'

type Thing = KubernetesObject & { size?: number; label?: string }
const schema = { type: 'object', properties: { size: { type: 'integer', default: 3 }, label: { type: 'string' } } }
const address = { group: 'example.com', kind: 'Thing', plural: 'things', scope: 'Namespaced' } as const

test('functions add to what the schema says', () => {
  const { definitions } = defineServedKind({
    ...address,
    versions: {
      v1: {
        isStored: true,
        schema,
        defaults(thing: Thing) {
          thing.label ??= `of size ${thing.size}`
        },
        validate: ({ size = 0 }: Thing, check) => size > 9 && check.dynamic('size').invalid('must be less than 10', size),
      },
    },
  })
  const [definition = assert.fail()] = definitions
  const thing: Thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't', namespace: 'ns' } }
  definition.defaults?.(thing)
  assert.deepEqual([thing.size, thing.label], [3, 'of size 3'])
  const validate = (object: Thing) => {
    const check = new Check(object)
    const steps = definition.validate?.(object, check as never, { now: '', isEnabled: () => false } as never)
    if (steps) atOnce(steps)
    return check.errors.map(({ field, body }) => `${field}: ${body}`)
  }
  assert.deepEqual(validate({ ...thing, size: 11 }), ['size: Invalid value: 11: must be less than 10'])
  assert.equal(validate({ ...thing, size: 'big' as unknown as number }).length, 1)
})

test('versions convert into each other, whatever the function forgets to carry over', async () => {
  const { definitions } = defineServedKind({
    ...address,
    versions: { v1: { isStored: true, schema }, v2: { schema } },
    convert: ({ size }: Thing, toVersion) => ({ size: toVersion === 'v2' ? (size ?? 0) * 10 : (size ?? 0) / 10 }),
  })
  const [v1 = assert.fail(), v2 = assert.fail()] = definitions
  const metadata = { name: 't', uid: 'u' }
  const converted = await v2.untyped?.convert?.([{ apiVersion: 'example.com/v1', kind: 'Thing', metadata, size: 2 } as Thing], v2)
  assert.deepEqual(converted, [{ apiVersion: 'example.com/v2', kind: 'Thing', metadata, size: 20 }])
  assert.equal(v1.untyped?.isStorage, true)
})

test('exactly one version is stored', () => {
  assert.throws(
    () => defineServedKind({ ...address, versions: { v1: { schema } } }),
    /things.example.com: exactly one version must be the stored one, not 0/,
  )
})
