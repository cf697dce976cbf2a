import { PodCertificateRequest } from '#api/certificates/v1beta1/kinds.gen.ts'
import type { V1beta1PodCertificateRequest, V1beta1PodCertificateRequestSpec } from '#api/certificates/v1beta1/types.gen.ts'
import { validateIssue } from '#api/certificates/v1beta1/validate-issue.ts'
import { validateKey } from '#api/certificates/v1beta1/validate-key.ts'
import { isKubernetesSigner, validateUserAnnotations } from '#api/core/v1/pod-spec/validate-projected-volume.ts'
import { validateSignerName } from '#api/core/v1/signer-names.ts'
import type { Check } from '#api/meta/check.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { byteLength, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { labelsText } from '#api/meta/selector.ts'
import { defineResource } from '#api/resource.ts'

/** A node asks a signer for a certificate of one of its pods. */
export const podCertificateRequestResource = defineResource(PodCertificateRequest, {
  featureGate: 'PodCertificateRequest',
  generation: false,

  defaults({ spec }) {
    if (spec != null) spec.maxExpirationSeconds ??= 24 * 60 * 60
  },
  validate: (_object, check) => validateSpec(check.at('spec').or({} as V1beta1PodCertificateRequestSpec)),
  validateUpdate: (_next, prev, check) =>
    mustNotChange(check.at('spec'), prev.spec, equalityOf(PodCertificateRequest).at('spec'), 'certificates.PodCertificateRequestSpec'),

  subresources: {
    status: {
      keepsMetadata: 'all',
      validateUpdate(next, prev, check, { now }) {
        if (!check.failed) validateIssue(next, prev, check.at('status'), now)
      },
    },
  },

  fieldSelectors: {
    'spec.signerName': ({ spec }) => spec?.signerName ?? '',
    'spec.podName': ({ spec }) => spec?.podName ?? '',
    'spec.nodeName': ({ spec }) => spec?.nodeName ?? '',
  },
  columns: [
    nameColumn,
    specColumn('PodName', 'podName'),
    specColumn('ServiceAccountName', 'serviceAccountName'),
    specColumn('NodeName', 'nodeName'),
    specColumn('SignerName', 'signerName'),
    {
      name: 'State',
      type: 'string',
      description: 'Is the request Pending, Issued, Denied, or Failed?',
      cell: ({ status }) => status?.conditions?.findLast(({ type }) => ['Issued', 'Denied', 'Failed'].includes(type))?.type ?? 'Pending',
    },
    {
      name: 'UnverifiedUserAnnotations',
      type: 'string',
      description: { field: 'PodCertificateRequestSpec.unverifiedUserAnnotations' },
      cell: ({ spec }) => labelsText(spec?.unverifiedUserAnnotations),
    },
  ],
})

function specColumn(name: string, field: 'podName' | 'serviceAccountName' | 'nodeName' | 'signerName') {
  return {
    name,
    type: 'string' as const,
    description: { field: `PodCertificateRequestSpec.${field}` },
    cell: ({ spec }: V1beta1PodCertificateRequest) => spec?.[field] ?? '',
  }
}

const maxUidBytes = 128
const minSeconds = 60 * 60
const maxSeconds = 91 * 24 * 60 * 60
const maxKubernetesSeconds = 24 * 60 * 60

function validateSpec(check: Check<V1beta1PodCertificateRequestSpec>): void {
  const spec = check.value
  const { signerName = '', unverifiedUserAnnotations, maxExpirationSeconds: seconds } = spec
  validateSignerName(check.at('signerName').or(''))
  if (unverifiedUserAnnotations != null) validateUserAnnotations(check.at('unverifiedUserAnnotations').present)
  for (const owner of ['pod', 'serviceAccount', 'node'] as const) {
    mustBe(dns1123Subdomain, check.at(`${owner}Name`).with(spec[`${owner}Name`] ?? ''))
    const uid = spec[`${owner}UID`] ?? ''
    if (uid === '') check.at(`${owner}UID`).invalid('must not be empty', uid)
    if (byteLength(uid) > maxUidBytes) check.at(`${owner}UID`).tooLong(maxUidBytes)
  }
  if (seconds == null) {
    check.at('maxExpirationSeconds').required('must be set')
    return
  }
  const limit = isKubernetesSigner(signerName) ? maxKubernetesSeconds : maxSeconds
  if (seconds < minSeconds || seconds > limit) {
    check.at('maxExpirationSeconds').invalid(`must be in the range [${minSeconds}, ${limit}]`)
  }
  validateKey(check)
}
