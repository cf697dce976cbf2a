import { X509Certificate } from 'node:crypto'
import type { Random } from '#base/random.ts'

/** Upstream's: when between 70 and 90 per cent of its time are over. */
const earliestShare = 0.7
const shareSpan = 0.2

/** When a certificate is to be replaced. */
export function renewalTimeMs(certificatePem: string, random: Random): number {
  const { validFromDate, validToDate } = new X509Certificate(certificatePem)
  const lifeMs = validToDate.getTime() - validFromDate.getTime()
  return validFromDate.getTime() + lifeMs * (earliestShare + shareSpan * random.float())
}
