import { X509Certificate } from 'node:crypto'
import { ClusterTrustBundle } from '#api/certificates/v1beta1/kinds.gen.ts'
import type { V1beta1ClusterTrustBundle } from '#api/certificates/v1beta1/types.gen.ts'
import { trustBundleNameErrorsFor, validateSignerName } from '#api/core/v1/signer-names.ts'
import type { Check } from '#api/meta/check.ts'
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
  rejudgesMetadata: false,

  validate: (bundle, check) => validateBundle(bundle, check),
  validateUpdate(next, prev, check) {
    validateObjectMeta(next.metadata, { scope: 'Cluster', nameRule: nameIsPathSegment }, check.at('metadata'))
    validateBundle(next, check, prev)
    validateObjectMetaUpdate(next.metadata, prev.metadata, check.at('metadata'))
    mustNotChange(next.spec?.signerName ?? '', prev.spec?.signerName ?? '', check.at('spec.signerName'))
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
function validateBundle({ metadata, spec }: V1beta1ClusterTrustBundle, check: Check, prev?: V1beta1ClusterTrustBundle): void {
  const { signerName = '', trustBundle = '' } = spec ?? {}
  const { name = '', generateName = '' } = metadata ?? {}
  for (const [field, value] of Object.entries({ generateName, name })) {
    if (value === '') continue
    for (const message of trustBundleNameErrorsFor(signerName, value)) check.at('metadata').at(field).invalid(value, message)
  }
  if (signerName !== '') validateSignerName(signerName, check.at('spec.signerName'))
  if (prev === undefined || trustBundle !== prev.spec?.trustBundle) validateCertificates(trustBundle, check.at('spec.trustBundle'))
}

const hidden = '<value omitted>'

function validateCertificates(pem: string, check: Check): void {
  if (byteLength(pem) > maxBundleBytes) {
    check.tooLong(maxBundleBytes)
    return
  }
  const before = check.errors.length
  const indicesOf = new Map<string, number[]>()
  for (const [index, { type, headers, bytes }] of decodePemBlocks(pem).entries()) {
    const fault = blockFault(type, headers, bytes)
    if (fault !== undefined) check.invalid(hidden, `entry ${index} ${fault}`)
    const key = Buffer.from(bytes).toString('base64')
    indicesOf.set(key, [...(indicesOf.get(key) ?? []), index])
  }
  if (check.errors.length > before) return
  if (indicesOf.size === 0) check.invalid(hidden, 'at least one trust anchor must be provided')
  for (const indices of indicesOf.values()) {
    if (indices.length > 1) check.invalid(hidden, `duplicate trust anchor (indices [${indices.join(' ')}])`)
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
