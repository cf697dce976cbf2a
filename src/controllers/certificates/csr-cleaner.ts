import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import type { V1CertificateSigningRequest } from '#api/certificates/v1/types.gen.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { parseTime } from '#api/meta/time.ts'
import { isIssued } from '#controllers/certificates/request-state.ts'
import { defineLoop } from '#controllers/runtime/define-loop.ts'
import { createdMs } from '#controllers/workload/pods.ts'
import { decodePem } from '#wire/pem.ts'
import { readCertificate } from '#wire/x509/read-certificate.ts'

const hourMs = 3_600_000
/** After a request was decided on, whoever made it has this long to fetch the answer. */
const decidedMs = hourMs
const pendingMs = 24 * hourMs

/** Removes requests for certificates that are done with, and those that nobody answers. */
export const csrCleaner = defineLoop({
  name: 'certificatesigningrequest-cleaner-controller',
  alias: 'csrcleaner',
  serviceAccount: 'certificate-controller',
  reads: [CertificateSigningRequest],
  periodMs: () => hourMs,

  begin:
    ({ cache, client, clock, logger }) =>
    async () => {
      for (const request of cache.list(CertificateSigningRequest)) {
        const reason = reasonToRemove(request, clock.now())
        if (reason === undefined) continue
        const { name = '' } = request.metadata
        logger.info('deleting CertificateSigningRequest', { name, reason })
        await client.delete(CertificateSigningRequest, { name }).catch((error: unknown) => {
          if (!isNotFound(error)) logger.warn('failed to delete CertificateSigningRequest', { name, error: String(error) })
        })
      }
    },
})

function reasonToRemove(request: V1CertificateSigningRequest, nowMs: number): string | undefined {
  const { status, metadata } = request
  const conditions = status?.conditions ?? []
  const isOld = (wanted: string, limitMs: number) =>
    conditions.some(({ type, lastUpdateTime }) => type === wanted && lastUpdateTime && nowMs - parseTime(lastUpdateTime) > limitMs)
  if (isIssued(request) && isOld('Approved', decidedMs)) return 'issued more than an hour ago'
  if (isOld('Denied', decidedMs)) return 'denied more than an hour ago'
  if (isOld('Failed', decidedMs)) return 'failed more than an hour ago'
  if (conditions.length === 0 && metadata.creationTimestamp !== undefined && nowMs - createdMs({ metadata }) > pendingMs)
    return 'pending for more than a day'
  if (findCondition(conditions, 'Approved') !== undefined && isExpired(status?.certificate, nowMs)) return 'its certificate has expired'
  if (!isIssued(request) && isOld('Approved', pendingMs)) return 'approved more than a day ago, but not issued'
  return undefined
}

function isExpired(certificate: string | undefined, nowMs: number): boolean {
  const { block } = decodePem(Buffer.from(certificate ?? '', 'base64').toString('latin1'))
  if (block === undefined) return false
  try {
    return nowMs > readCertificate(block.bytes).notAfterMs
  } catch {
    return false
  }
}
