import { X509Certificate } from 'node:crypto'
import { ClusterTrustBundle } from '#api/certificates/v1beta1/kinds.gen.ts'
import type { V1beta1ClusterTrustBundle } from '#api/certificates/v1beta1/types.gen.ts'
import { trustBundleNameErrorsFor, validateSignerName } from '#api/core/v1/signer-names.ts'
import { type Check, furtherErrors } from '#api/meta/check.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, nameIsPathSegment } from '#api/meta/names.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { defineResource } from '#api/resource.ts'
import { decodePemBlocks } from '#wire/pem.ts'

const maxBundleBytes = 1024 * 1024

/** Root certificates that pods may trust: those of one signer, or of nobody in particular. */
export const clusterTrustBundleResource = defineResource(ClusterTrustBundle, {
  featureGate: 'ClusterTrustBundle',
  nameRule: nameIsPathSegment,
  generation: false,
  revalidatesMetadata: false,

  validate: (_bundle, check) => validateBundle(check),
  validateUpdate(_next, prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: nameIsPathSegment })
    validateBundle(check, prev)
    validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
    mustNotChange(check.at('spec').at('signerName').or(''), prev.spec?.signerName ?? '')
  },

  fieldSelectors: { 'spec.signerName': ({ spec }) => spec?.signerName ?? '' },
  columns: [
    nameColumn,
    {
      name: 'SignerName',
      type: 'string',
      description: { field: 'ClusterTrustBundleSpec.signerName' },
      cell: ({ spec }) => spec?.signerName || '<none>',
    },
  ],
})

/** Certificates that an update leaves alone are not read again: what counts as sound may have changed. */
function validateBundle(check: Check<V1beta1ClusterTrustBundle>, prev?: V1beta1ClusterTrustBundle): void {
  const { metadata, spec } = check.value
  const { signerName = '', trustBundle = '' } = spec ?? {}
  for (const field of ['generateName', 'name'] as const) {
    const value = metadata?.[field] ?? ''
    if (value === '') continue
    for (const message of trustBundleNameErrorsFor(signerName, value)) check.at('metadata').at(field).invalid(message)
  }
  if (signerName !== '') validateSignerName(check.at('spec').at('signerName').with(signerName))
  if (prev === undefined || trustBundle !== prev.spec?.trustBundle)
    validateCertificates(check.at('spec').at('trustBundle').with(trustBundle))
}

const hidden = '<value omitted>'

function validateCertificates(check: Check<string>): void {
  const pem = check.value
  if (byteLength(pem) > maxBundleBytes) {
    check.tooLong(maxBundleBytes)
    return
  }
  const before = check.errors.length
  const indicesOf = new Map<string, number[]>()
  for (const [index, { type, headers, bytes }] of decodePemBlocks(pem).entries()) {
    const fault = blockFault(type, headers, bytes)
    if (fault !== undefined) check.invalid(`entry ${index} ${fault}`, hidden)
    // Nobody is told of the others, and there may be thirty thousand.
    if (check.errors.at(-1) === furtherErrors) return
    const key = Buffer.from(bytes).toString('base64')
    const indices = indicesOf.get(key)
    if (indices === undefined) indicesOf.set(key, [index])
    else indices.push(index)
  }
  if (check.errors.length > before) return
  if (indicesOf.size === 0) check.invalid('at least one trust anchor must be provided', hidden)
  for (const indices of indicesOf.values()) {
    if (indices.length > 1) check.invalid(`duplicate trust anchor (indices [${indices.join(' ')}])`, hidden)
  }
}

function blockFault(type: string, headers: object, der: Uint8Array): string | undefined {
  if (type !== 'CERTIFICATE') return `has bad block type: ${type}`
  if (Object.keys(headers).length > 0) return 'has PEM block headers'
  try {
    return new X509Certificate(der).ca ? undefined : 'does not have the CA bit set'
  } catch {
    return 'does not parse as X.509'
  }
}
