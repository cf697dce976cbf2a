import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import { renewalTimeMs } from '#client/certificates/renewal-time.ts'
import { requestServingCertificate } from '#client/certificates/request-certificate.ts'
import type { Client } from '#client/client.ts'
import type { SubjectAltNames } from '#wire/x509/certificate.ts'

export type ServingCertificateOptions = {
  client: Client
  nodeName: string
  /** What it is served under. */
  subjectAltNames: SubjectAltNames
  /** Where it is kept. */
  directory: string
  /** Hears of the one that is there, and of each that comes after it. */
  onCertificate(certificate: { cert: string; key: string }): void
}

type Seams = { clock: Clock; random: Random; files: Files; logger: Logger }

const fileName = 'kubelet-server-current.pem'
const retryMs = 60_000
/** Timers stand still while a machine sleeps, certificates age on: look again this often. */
const longestSleepMs = 3_600_000

/** `serverTLSBootstrap`: what the kubelet serves with is signed by the cluster, once somebody approves, and renewed in time. */
export function keepServingCertificate(options: ServingCertificateOptions, { clock, random, files, logger }: Seams): Disposable {
  const { client, nodeName, subjectAltNames, directory, onCertificate } = options
  const path = join(directory, fileName)
  const isOver = new AbortController()
  let timer: Timer | undefined
  let renewAtMs = 0
  const take = (pem: string) => {
    onCertificate({ cert: pem, key: pem })
    renewAtMs = renewalTimeMs(pem, random)
  }
  const begin = async () => {
    const kept = await files.readTextIfPresent(path)
    if (kept !== undefined && isGood(kept, clock.now())) take(kept)
  }
  const renew = async () => {
    if (clock.now() >= renewAtMs) {
      const asker = { nodeName, subjectAltNames, clock, signal: isOver.signal }
      const { certificatePem, privateKeyPem } = await requestServingCertificate(client, asker)
      const pem = `${certificatePem.trimEnd()}\n${privateKeyPem}`
      await files.makeDirectory(directory)
      await files.write(path, pem, { mode: 0o600 })
      take(pem)
      logger.info('serving certificate of the kubelet was rotated', { node: nodeName })
    }
    schedule(Math.max(renewAtMs - clock.now(), 0))
  }
  const schedule = (delayMs: number) => {
    if (isOver.signal.aborted) return
    timer = clock.after(Math.min(delayMs, longestSleepMs), () => attempt(renew))
  }
  const attempt = (act: () => Promise<void>) => {
    act().catch((error: unknown) => {
      if (isOver.signal.aborted) return
      logger.error('failed to get a serving certificate of the kubelet', { node: nodeName, error: errorMessage(error) })
      schedule(retryMs)
    })
  }
  attempt(async () => {
    await begin()
    await renew()
  })
  return {
    [Symbol.dispose]() {
      isOver.abort()
      timer?.cancel()
    },
  }
}

function isGood(pem: string, nowMs: number): boolean {
  try {
    return new X509Certificate(pem).validToDate.getTime() > nowMs
  } catch {
    // Cut off while it was written, or spoiled: another one is asked for.
    return false
  }
}
