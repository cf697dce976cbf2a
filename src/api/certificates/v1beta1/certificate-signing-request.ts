import { certificateSigningRequestResource as certificateSigningRequestV1 } from '#api/certificates/v1/certificate-signing-request.ts'
import { parseSigningRequest } from '#api/certificates/v1/pem-errors.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import type { V1beta1CertificateSigningRequest, V1beta1CertificateSigningRequestSpec } from '#api/certificates/v1beta1/types.gen.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { CertificateRequest } from '#wire/certificate-request.ts'

/** Who signs could be left to the server, which told it from the request. */
export const certificateSigningRequestResource = legacyVersion<V1beta1CertificateSigningRequest, V1CertificateSigningRequest>(
  certificateSigningRequestV1,
  {
    version: 'v1beta1',
    deprecated: { deprecatedIn: '1.19', removedIn: '1.22' },
    defaults(request) {
      request.spec ??= {} as V1beta1CertificateSigningRequestSpec
      const { spec } = request
      spec.usages ??= ['digital signature', 'key encipherment']
      spec.signerName ??= signerOf(spec)
      for (const condition of request.status?.conditions ?? []) condition.status ||= 'True'
    },
  },
)

function signerOf({ request, usages }: V1beta1CertificateSigningRequestSpec): string {
  const parsed = parsedRequest(request ?? '')
  if (parsed !== undefined && isOfNode(parsed)) {
    if (isKubeletClient(parsed, usages ?? [])) return 'kubernetes.io/kube-apiserver-client-kubelet'
    if (isKubeletServer(parsed, usages ?? [])) return 'kubernetes.io/kubelet-serving'
  }
  return 'kubernetes.io/legacy-unknown'
}

function parsedRequest(base64: string): CertificateRequest | undefined {
  try {
    return parseSigningRequest(base64)
  } catch {
    return undefined
  }
}

function isOfNode({ subject: { organization, commonName } }: CertificateRequest): boolean {
  return organization.length === 1 && organization[0] === 'system:nodes' && commonName.startsWith('system:node:')
}

function isKubeletClient({ dnsNames, emailAddresses, ipAddresses, uris }: CertificateRequest, usages: readonly string[]): boolean {
  const names = [...dnsNames, ...emailAddresses, ...ipAddresses, ...uris]
  return names.length === 0 && areUsagesFor('client auth', usages)
}

function isKubeletServer({ dnsNames, emailAddresses, ipAddresses, uris }: CertificateRequest, usages: readonly string[]): boolean {
  const isNamed = dnsNames.length > 0 || ipAddresses.length > 0
  return isNamed && emailAddresses.length === 0 && uris.length === 0 && areUsagesFor('server auth', usages)
}

/** Keys that are not RSA encipher no other keys. */
function areUsagesFor(purpose: string, usages: readonly string[]): boolean {
  const given = new Set(usages)
  const needed = ['digital signature', purpose]
  given.delete('key encipherment')
  return given.size === needed.length && needed.every((usage) => given.has(usage))
}
