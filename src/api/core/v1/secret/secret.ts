import { jsonSyntaxError } from '#api/codec/json-syntax-error.ts'
import { base64Bytes } from '#api/core/v1/base64-bytes.ts'
import { dataMaxBytes, immutableMessage, isSameData } from '#api/core/v1/config-map.ts'
import { Secret } from '#api/core/v1/kinds.gen.ts'
import { keyPairWarnings } from '#api/core/v1/secret/key-pair-warnings.ts'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { configMapKey } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { mustBe, nameIsDns1123Subdomain } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'

const serviceAccountAnnotation = 'kubernetes.io/service-account.name'

export const secretResource = defineResource(Secret, {
  allowUnconditionalUpdate: true,

  defaults(secret) {
    secret.type ||= 'Opaque'
    const { stringData } = secret
    if (stringData === undefined) return
    for (const [key, value] of Object.entries(stringData)) {
      secret.data ??= {}
      secret.data[key] = Buffer.from(value).toString('base64')
    }
    // Write-only: nobody ever reads it back.
    delete secret.stringData
  },

  validate: validateSecret,
  warningsOnCreate: secretWarnings,

  prepareForUpdate(next, prev) {
    if (!next.type && prev.type) next.type = prev.type
  },
  validateUpdate(next, prev, check) {
    mustNotChange(check.at('type').or(''), prev.type ?? '')
    if (prev.immutable) {
      if (!next.immutable) check.at('immutable').forbidden(immutableMessage)
      if (!isSameData(next.data, prev.data)) check.at('data').forbidden(immutableMessage)
    }
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateSecret(next, check)
  },
  warningsOnUpdate: secretWarnings,

  columns: [
    nameColumn,
    { name: 'Type', type: 'string', description: { field: 'Secret.type' }, cell: ({ type }) => type ?? '' },
    { name: 'Data', type: 'string', description: { field: 'Secret.data' }, cell: ({ data }) => Object.keys(data ?? {}).length },
    ageColumn,
  ],
  fieldSelectors: { type: ({ type }) => type ?? '' },
})

function validateSecret({ metadata, data = {}, type }: V1Secret, check: Check<V1Secret>): void {
  const at = check.at('data')
  let size = 0
  for (const key in data) {
    mustBe(configMapKey, at.key(key).with(key))
    size += base64Bytes(data[key] ?? '')
  }
  if (size > dataMaxBytes) at.tooLong(dataMaxBytes)
  switch (type) {
    case 'kubernetes.io/service-account-token':
      if (!metadata.annotations?.[serviceAccountAnnotation]) check.at('metadata').at('annotations').key(serviceAccountAnnotation).required()
      return
    case 'kubernetes.io/dockercfg':
      validateJson(at.key('.dockercfg').with(data['.dockercfg']))
      return
    case 'kubernetes.io/dockerconfigjson':
      validateJson(at.key('.dockerconfigjson').with(data['.dockerconfigjson']))
      return
    case 'kubernetes.io/basic-auth':
      if (data['username'] !== undefined || data['password'] !== undefined) return
      requireKeys(at.or({}), ['username', 'password'])
      return
    case 'kubernetes.io/ssh-auth':
      if (!data['ssh-privatekey']) at.key('ssh-privatekey').required()
      return
    case 'kubernetes.io/tls':
      requireKeys(at.or({}), ['tls.crt', 'tls.key'])
      return
  }
}

function requireKeys(check: Check<{ [key: string]: string }>, keys: readonly string[]): void {
  const data = check.value
  for (const key of keys) if (data[key] === undefined) check.key(key).required()
}

function validateJson(check: Check<string | undefined>): void {
  const base64 = check.value
  if (base64 === undefined) {
    check.required()
    return
  }
  const error = objectError(Buffer.from(base64, 'base64'))
  if (error !== undefined) check.invalid(error, '<secret contents redacted>')
}

const goNames: Record<string, string> = { string: 'string', number: 'number', boolean: 'bool' }

/** What Go says of bytes that are no JSON object; null is as good as one. */
function objectError(bytes: Buffer): string | undefined {
  const syntax = jsonSyntaxError(bytes)
  if (syntax !== undefined) return syntax
  const value: unknown = JSON.parse(bytes.toString())
  if (typeof value === 'object' && !Array.isArray(value)) return undefined
  const found = Array.isArray(value) ? 'array' : goNames[typeof value]
  return `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`
}

function secretWarnings({ type, data = {} }: V1Secret): string[] {
  return type === 'kubernetes.io/tls' ? keyPairWarnings(data['tls.crt'], data['tls.key']) : []
}
