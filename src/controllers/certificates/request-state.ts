import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'

export const isIssued = ({ status }: V1CertificateSigningRequest): boolean => (status?.certificate ?? '') !== ''

export const isApproved = (request: V1CertificateSigningRequest): boolean => has(request, 'Approved') && !has(request, 'Denied')

export const isDecided = (request: V1CertificateSigningRequest): boolean => has(request, 'Approved') || has(request, 'Denied')

export const isFailed = ({ status }: V1CertificateSigningRequest): boolean =>
  (status?.conditions ?? []).some(({ type, status: value = '' }) => type === 'Failed' && (value === '' || value === 'True'))

/** Whatever its status: an approval cannot be taken back. */
const has = ({ status }: V1CertificateSigningRequest, wanted: string): boolean =>
  (status?.conditions ?? []).some(({ type }) => type === wanted)
