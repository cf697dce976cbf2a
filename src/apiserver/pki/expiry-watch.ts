import { X509Certificate } from 'node:crypto'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

/** `place` is the file that has to be replaced. */
export type WatchedCertificate = { readonly place: string; readonly notBeforeMs: number; readonly notAfterMs: number }

type Ending = { isOver: boolean; message: string }

const lookEveryMs = 3600 * 1000
/** Of its life: whatever is renewed by itself never comes this far. */
const lastPart = 0.1

export function watchedCertificate(place: string, certificatePem: string): WatchedCertificate {
  const { validFromDate, validToDate } = new X509Certificate(certificatePem)
  return { place, notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() }
}

/** What there is to say of a certificate that has expired, or is about to and should have been replaced. */
export function endingOf({ place, notBeforeMs, notAfterMs }: WatchedCertificate, nowMs: number): Ending | undefined {
  if (nowMs < notAfterMs - (notAfterMs - notBeforeMs) * lastPart) return undefined
  const end = new Date(notAfterMs).toISOString()
  const what = 'replace the file, it is read again without a restart'
  if (nowMs >= notAfterMs) return { isOver: true, message: `the certificate in ${place} has expired at ${end}: ${what}` }
  return { isOver: false, message: `the certificate in ${place} expires at ${end} and is not renewed by itself: ${what}` }
}

/** Says in the log when certificates that others look after are about to expire, once, and that they have, each hour. */
export class ExpiryWatch {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #certificates: () => readonly WatchedCertificate[]
  #warned: ReadonlySet<string> = new Set()
  #timer: Timer | undefined
  #isOver = false

  constructor({ clock, logger, certificates }: { clock: Clock; logger: Logger; certificates: () => readonly WatchedCertificate[] }) {
    this.#clock = clock
    this.#logger = logger
    this.#certificates = certificates
    this.look()
  }

  /** Again, since files have changed or time has passed. */
  look(): void {
    if (this.#isOver) return
    const nowMs = this.#clock.now()
    const warned = new Set<string>()
    let nextMs = nowMs + lookEveryMs
    for (const certificate of this.#certificates()) {
      const ending = endingOf(certificate, nowMs)
      if (certificate.notAfterMs > nowMs) nextMs = Math.min(nextMs, certificate.notAfterMs)
      if (ending?.isOver) this.#logger.error(ending.message)
      else if (ending) {
        if (!this.#warned.has(ending.message)) this.#logger.warn(ending.message)
        warned.add(ending.message)
      }
    }
    this.#warned = warned
    this.#timer?.cancel()
    this.#timer = this.#clock.after(nextMs - nowMs, () => this.look())
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#timer?.cancel()
  }
}
