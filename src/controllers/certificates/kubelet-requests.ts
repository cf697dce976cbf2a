/** What a kubelet may ask for: a certificate to show to the API server, and one to show to those who call it. */

import type { CertificateRequest } from '#wire/certificate-request.ts'

/** Why a request is none for a client certificate of a kubelet; undefined when it is one. */
export function kubeletClientError(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isOfNodes(request)) return 'subject organization is not system:nodes'
  if (request.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed'
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (request.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed'
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed'
  if (!isNamedAsNode(request)) return 'subject common name does not begin with system:node:'
  return usagesError(usages, 'client auth')
}

/** Why a request is none for a serving certificate of a kubelet; undefined when it is one. */
export function kubeletServingError(request: CertificateRequest, usages: readonly string[]): string | undefined {
  if (!isOfNodes(request)) return 'subject organization is not system:nodes'
  if (request.dnsNames.length === 0 && request.ipAddresses.length === 0) return 'DNS or IP subjectAltName is required'
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed'
  const wrongUsages = usagesError(usages, 'server auth')
  if (wrongUsages !== undefined) return wrongUsages
  return isNamedAsNode(request) ? undefined : 'subject common name does not begin with system:node:'
}

const isOfNodes = ({ subject }: CertificateRequest): boolean =>
  subject.organization.length === 1 && subject.organization[0] === 'system:nodes'

const isNamedAsNode = ({ subject }: CertificateRequest): boolean => subject.commonName.startsWith('system:node:')

/** Keys that cannot encipher (all but RSA's) need not be allowed to. */
function usagesError(usages: readonly string[], purpose: 'client auth' | 'server auth'): string | undefined {
  const asked = new Set(usages)
  asked.delete('key encipherment')
  if (asked.size === 2 && asked.has('digital signature') && asked.has(purpose)) return undefined
  return `usages did not match [${[purpose, 'digital signature', 'key encipherment'].sort().join(' ')}]`
}
