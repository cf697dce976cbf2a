import { type Certificate, openCertificate } from '#base/byte-streams.ts'
import { errorMessage } from '#base/error-message.ts'
import { HostIndex } from '#ingress/routing/host-index.ts'

/** As a secret holds it, in PEM. */
export type CertificatePair = { readonly cert: string; readonly key: string }

/** Which pair is shown to clients that ask for the host at the listener. */
export type SiteCertificate = {
  readonly listener: string
  /** Empty: any. */
  readonly host: string
  readonly secret: string
}

/** An opened pair takes some 30 KiB, and a quarter of a millisecond to open again. */
const mostOpened = 1000

type Kept = {
  readonly pair: CertificatePair
  /** What was shown before this pair took its place; shown on where this one cannot be opened. */
  readonly former: Certificate | undefined
}

/**
 * Which certificate is shown to whom. However many hosts show the pair of a secret, it is here once; it is opened when somebody first asks for it.
 * One that cannot be opened is complained of then, and harms no other.
 */
export class CertificateTable {
  readonly #hosts = new Map<string, HostIndex<string>>()
  readonly #pairs = new Map<string, Kept>()
  /** By secret; the one that was asked for last comes last. Undefined where it cannot be opened. */
  readonly #opened = new Map<string, Certificate | undefined>()
  readonly #onError: (message: string) => void
  readonly #open: typeof openCertificate

  constructor(onError: (message: string) => void, open: typeof openCertificate = openCertificate) {
    this.#onError = onError
    this.#open = open
  }

  setPair(secret: string, pair: CertificatePair): void {
    this.#pairs.set(secret, { pair, former: this.#opened.get(secret) ?? this.#pairs.get(secret)?.former })
    this.#opened.delete(secret)
  }

  deletePair(secret: string): void {
    this.#pairs.delete(secret)
    this.#opened.delete(secret)
  }

  set({ listener, host, secret }: SiteCertificate): void {
    const hosts = this.#hosts.get(listener) ?? new HostIndex<string>()
    this.#hosts.set(listener, hosts)
    hosts.set(host, 'label', secret)
  }

  delete({ listener, host }: Pick<SiteCertificate, 'listener' | 'host'>): void {
    const hosts = this.#hosts.get(listener)
    hosts?.delete(host, 'label')
    if (hosts?.isEmpty) this.#hosts.delete(listener)
  }

  find(listener: string, name: string): Certificate | undefined {
    const secret = this.#hosts.get(listener)?.find(name.toLowerCase())
    const kept = secret === undefined ? undefined : this.#pairs.get(secret)
    if (secret === undefined || kept === undefined) return undefined
    const certificate = this.#opened.has(secret) ? this.#opened.get(secret) : this.#openPair(secret, kept)
    this.#opened.delete(secret)
    this.#opened.set(secret, certificate)
    const [oldest] = this.#opened.keys()
    if (this.#opened.size > mostOpened && oldest !== undefined) this.#opened.delete(oldest)
    return certificate
  }

  #openPair(secret: string, { pair, former }: Kept): Certificate | undefined {
    try {
      const certificate = this.#open(pair.cert, pair.key)
      if (former !== undefined) this.#pairs.set(secret, { pair, former: undefined })
      return certificate
    } catch (error) {
      this.#onError(`the certificate of secret ${secret} cannot be used: ${errorMessage(error)}`)
      return former
    }
  }
}
