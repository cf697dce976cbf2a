import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import type {
  V1CertificateSigningRequest,
  V1CertificateSigningRequestCondition,
  V1CertificateSigningRequestSpec,
} from '#api/certificates/v1/types.gen.ts'
import { validateSigningRequest, validateSigningRequestUpdate } from '#api/certificates/v1/validate-signing-request.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { humanDuration } from '#api/meta/human-duration.ts'
import { nameIsPathSegment } from '#api/meta/names.ts'
import { putBack } from '#api/meta/put-back.ts'
import { defineResource } from '#api/resource.ts'

// The table still describes fields as v1beta1 did.
const signerDescription = [
  'Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:',
  " 1. If it's a kubelet client certificate, it is assigned",
  '    "kubernetes.io/kube-apiserver-client-kubelet".',
  " 2. If it's a kubelet serving certificate, it is assigned",
  '    "kubernetes.io/kubelet-serving".',
  ' 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".',
  'Distribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.',
].join('\n')

/** Asks a signer for a certificate. What is asked, and who asks, never changes; approval and issuing have endpoints of their own. */
export const certificateSigningRequestResource = defineResource(CertificateSigningRequest, {
  nameRule: nameIsPathSegment,
  generation: false,
  revalidatesMetadata: false,
  allowUnconditionalUpdate: true,
  resetFields: ['spec', 'status'],

  prepareForCreate(request, { user }) {
    const { username, uid, groups, extra, ...asked } = request.spec ?? { request: '', signerName: '' }
    request.spec = asked
    if (user !== undefined) identify(request.spec, user)
  },
  prepareForUpdate: (next, prev) => putBack(next, prev, 'spec'),
  validate: (_request, check, context) => validateSigningRequest(check, context),
  validateUpdate: (_next, prev, check, context) => validateSigningRequestUpdate(check, prev, context),

  subresources: {
    status: {
      resetFields: ['spec', 'status.conditions'],
      revalidatesMetadata: false,
      prepareForUpdate(next, prev, { now }) {
        keepConditions(next, prev, 'Approved')
        keepConditions(next, prev, 'Denied')
        fillTimes(next, prev, now)
      },
      validateUpdate: (_next, prev, check, context) => validateSigningRequestUpdate(check, prev, context, { maySetCertificate: true }),
    },
    approval: {
      resetFields: ['spec', 'status.certificate'],
      revalidatesMetadata: false,
      prepareForUpdate(next, prev, { now }) {
        fillTimes(next, prev, now)
        putBack(next, prev, 'spec')
        const conditions = next.status?.conditions
        next.status = { ...prev.status }
        if (conditions === undefined) delete next.status.conditions
        else next.status.conditions = conditions
      },
      validateUpdate: (_next, prev, check, context) => validateSigningRequestUpdate(check, prev, context, { mayApprove: true }),
    },
  },

  fieldSelectors: { 'spec.signerName': ({ spec }) => spec?.signerName ?? '' },
  columns: [
    nameColumn,
    ageColumn,
    {
      name: 'SignerName',
      type: 'string',
      description: signerDescription,
      cell: ({ spec }) => spec?.signerName || '<none>',
    },
    {
      name: 'Requestor',
      type: 'string',
      description: 'Base64-encoded PKCS#10 CSR data',
      cell: ({ spec }) => spec?.username ?? '',
    },
    {
      name: 'RequestedDuration',
      type: 'string',
      description: { field: 'CertificateSigningRequestSpec.expirationSeconds' },
      cell: ({ spec }) => (spec?.expirationSeconds == null ? '<none>' : humanDuration(spec.expirationSeconds * 1000)),
    },
    {
      name: 'Condition',
      type: 'string',
      description: 'Conditions applied to the request, such as approval or denial.',
      cell: conditionCell,
    },
  ],
})

type User = { readonly name: string; readonly uid?: string | undefined; readonly groups: readonly string[]; readonly extra: object }

function identify(spec: V1CertificateSigningRequestSpec, { name, uid, groups, extra }: User): void {
  spec.username = name
  if (uid) spec.uid = uid
  spec.groups = [...groups]
  if (Object.keys(extra).length > 0) spec.extra = { ...extra }
}

const conditionsOf = (request: V1CertificateSigningRequest, type: string): V1CertificateSigningRequestCondition[] =>
  (request.status?.conditions ?? []).filter((condition) => condition.type === type)

/** Conditions of the type stay as they were, unless some were added or removed: validation then says no. */
function keepConditions(next: V1CertificateSigningRequest, prev: V1CertificateSigningRequest, type: string): void {
  const kept = conditionsOf(prev, type)
  if (next.status?.conditions === undefined || kept.length !== conditionsOf(next, type).length) return
  next.status.conditions = next.status.conditions.map((condition) => (condition.type === type && kept.shift()) || condition)
}

function fillTimes(next: V1CertificateSigningRequest, prev: V1CertificateSigningRequest, now: string): void {
  for (const condition of next.status?.conditions ?? []) {
    condition.lastUpdateTime ||= now
    condition.lastTransitionTime ||=
      conditionsOf(prev, condition.type).find((each) => each.status === condition.status && each.lastTransitionTime)?.lastTransitionTime ??
      now
  }
}

function conditionCell(request: V1CertificateSigningRequest): string {
  const has = (type: string) => conditionsOf(request, type).length > 0
  let cell = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
  if (has('Failed')) cell += ',Failed'
  if (request.status?.certificate) cell += ',Issued'
  return cell
}
