import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { parseSigningRequest } from '#api/certificates/v1/pem-errors.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import { formatTime } from '#api/meta/time.ts'
import { errorMessage } from '#base/error-message.ts'
import { kubeletClientError, kubeletServingError } from '#controllers/certificates/kubelet-requests.ts'
import { isApproved, isFailed, isIssued } from '#controllers/certificates/request-state.ts'
import { type SigningAuthority, signCertificate } from '#controllers/certificates/signing-authority.ts'
import { defineController, type ReconcileContext } from '#controllers/runtime/define-controller.ts'
import type { CertificateRequest } from '#wire/certificate-request.ts'

/** Why a signer does not make a certificate of a request, once and for all; undefined when it does. */
type Refusal = (request: CertificateRequest, usages: readonly string[]) => string | undefined

/** The signers of Kubernetes itself. What the last one signs is good for nothing in particular. */
const refusals: Readonly<Record<string, Refusal>> = {
  'kubernetes.io/kubelet-serving': kubeletServingError,
  'kubernetes.io/kube-apiserver-client-kubelet': kubeletClientError,
  'kubernetes.io/kube-apiserver-client': (_request, usages) => clientUsagesError(usages),
  'kubernetes.io/legacy-unknown': () => undefined,
}

/** Makes certificates of approved requests, for those signers whose authority it has. */
export const csrSigningController = defineController({
  name: 'certificatesigningrequest-signing-controller',
  alias: 'csrsigning',
  queueName: 'certificate',
  serviceAccount: 'certificate-controller',
  isNeeded: ({ signingAuthorities }) => Object.keys(signingAuthorities).length > 0,
  for: CertificateSigningRequest,
  ignores: (request) => !waitsForSigner(request),

  async reconcile(object, context) {
    const { client, clock, settings } = context
    const { spec, metadata, status } = object
    const refusal = refusals[spec.signerName]
    const authority = settings.signingAuthorities[spec.signerName]
    if (refusal === undefined || authority === undefined || !waitsForSigner(object)) return
    let request: CertificateRequest
    try {
      request = parseSigningRequest(spec.request)
    } catch (error) {
      throw new Error(`unable to parse csr "${metadata.name}": ${errorMessage(error)}`)
    }
    const message = refusal(request, spec.usages ?? [])
    if (message !== undefined) {
      const lastUpdateTime = formatTime(clock.now())
      const failed = { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message, lastUpdateTime }
      const conditions = [...(status?.conditions ?? []), failed]
      await client.updateStatus(CertificateSigningRequest, { ...object, status: { ...status, conditions } })
      return
    }
    const certificate = await authority()
      .then((signer) => signed(request, signer, object, context))
      .catch((error: unknown) => {
        throw new Error(`error auto signing csr: ${errorMessage(error)}`)
      })
    await client.updateStatus(CertificateSigningRequest, { ...object, status: { ...status, certificate } })
  },
})

const waitsForSigner = (request: V1CertificateSigningRequest): boolean => isApproved(request) && !isFailed(request) && !isIssued(request)

/** The certificate as the API has it. */
function signed(
  request: CertificateRequest,
  authority: SigningAuthority,
  { spec }: V1CertificateSigningRequest,
  { clock, random, settings }: ReconcileContext,
): string {
  const pem = signCertificate(request, authority, {
    usages: spec.usages ?? [],
    durationMs: grantedMs(spec.expirationSeconds, settings.signingDurationMs),
    nowMs: clock.now(),
    random,
  })
  return Buffer.from(pem).toString('base64')
}

/** Twice of what a certificate is dated back. */
const shortestMs = 10 * 60_000

function grantedMs(expirationSeconds: number | undefined, longestMs: number): number {
  if (expirationSeconds === undefined || expirationSeconds * 1000 > longestMs) return longestMs
  return Math.max(expirationSeconds * 1000, shortestMs)
}

function clientUsagesError(usages: readonly string[]): string | undefined {
  const invalid = usages.find((usage) => !['digital signature', 'key encipherment', 'client auth'].includes(usage))
  if (invalid !== undefined) return `invalid usage for client certificate: ${invalid}`
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth'
}
