import { base64Bytes } from '#api/core/v1/base64-bytes.ts'
import { ConfigMap } from '#api/core/v1/kinds.gen.ts'
import { tooLongNowhere } from '#api/core/v1/odd-errors.ts'
import type { V1ConfigMap } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { configMapKey } from '#api/meta/formats.ts'
import { byteLength, mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

/** Also of secrets. */
export const dataMaxBytes = 1024 * 1024

export const configMapResource = defineResource(ConfigMap, {
  allowUnconditionalUpdate: true,

  validate: validateConfigMap,
  validateUpdate(next, prev, check) {
    if (prev.immutable) {
      if (!next.immutable) check.at('immutable').forbidden(immutableMessage)
      for (const field of ['data', 'binaryData'] as const) {
        if (!isSameData(next[field], prev[field])) check.at(field).forbidden(immutableMessage)
      }
    }
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateConfigMap(next, check)
  },

  columns: [
    nameColumn,
    {
      name: 'Data',
      type: 'string',
      description: { field: 'ConfigMap.data' },
      cell: ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
    },
    ageColumn,
  ],
})

export const immutableMessage = 'field is immutable when `immutable` is set'

type Data = { readonly [key: string]: string }

export function isSameData(one: Data = {}, other: Data = {}): boolean {
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key])
}

function validateConfigMap({ data = {}, binaryData = {} }: V1ConfigMap, check: Check<V1ConfigMap>): void {
  let size = 0
  for (const key in data) {
    mustBe(configMapKey, check.at('data').key(key).with(key))
    if (binaryData[key] !== undefined) check.at('data').key(key).invalid('duplicate of key present in binaryData', key)
    size += byteLength(data[key] ?? '')
  }
  for (const key in binaryData) {
    mustBe(configMapKey, check.at('binaryData').key(key).with(key))
    size += base64Bytes(binaryData[key] ?? '')
  }
  if (size > dataMaxBytes) tooLongNowhere(dataMaxBytes, check)
}
